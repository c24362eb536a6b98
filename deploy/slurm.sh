#!/usr/bin/env bash
# A program as a Slurm job that goes on where it stood, however often it is stopped; in this project's folder:
#   sbatch deploy/slurm.sh train.py pg --name run1 --num-workers 8 --iterations 300
# and for each task of an array, whose number stands for %a, as in Slurm's own file names:
#   sbatch --array=1-5 deploy/slurm.sh train.py pg --name run%a --num-workers 8 --seed %a
#SBATCH --job-name=pong
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append

cd "${SLURM_SUBMIT_DIR:-.}" || exit
words=("${@:2}")
# In a session of its own: a signal to the script's process group reaches the program once, from here, and not Ray.
setsid "${PYTHON:-.venv/bin/python}" "experiments/$1" "${words[@]//%a/${SLURM_ARRAY_TASK_ID:-%a}}" --resume-or-start &
program=$!
trap 'kill -USR1 $program' USR1 # two minutes before the time is up
trap 'kill -TERM $program' TERM # the job is preempted, and Slurm runs it again by itself; or it was cancelled
while kill -0 $program 2> /dev/null; do wait $program; done # a trap ends a wait
wait $program
status=$?
if [ $status -eq 138 ]; then # 128 + USR1: it saved, and has more to do
    task=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID} # of an array this task alone
    scontrol requeue "$task"
fi
exit $status
