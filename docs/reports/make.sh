#!/usr/bin/env bash
# Makes the reports, figures, film and tables between markers of README.md and docs/ from the revision that is checked
# out; protocol.md names the tables that it does not make.
#
#   docs/reports/make.sh FOLDER            every step that is neither done nor published of this code; an interrupted one
#                                          goes on where it was
#   docs/reports/make.sh FOLDER STEP ...   these steps alone, also where they are published
#   docs/reports/make.sh FOLDER --check    one seed of each learner, and the sweep, again, beside what is published
#
# A step that is done stays, also where the code has changed since. Its revision, which the pages name, is the last one
# that changed what its result depends on. Its data, its revision, the tables made of them, and the report, the film and
# the policy of those that have them, are in the checkout as soon as it is done, whatever is still to come: commit them
# then. A step that goes on with another one's experiment makes that one first.
#
# FOLDER keeps the experiments, what each step printed (STEP.log) and how long it took (seconds.tsv); it lies outside of
# the checkout. The steps take some 15 hours (estimated) on 2 cores with nothing beside them; protocol.md says what they
# are for.
set -euo pipefail
code=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$code/.venv/bin/python}
programs=$code/experiments

learning=(pg trpo long_pg long_trpo a2c karpathy modular_rl)
sweeps=(sweep_pg sweep_trpo sweep_pg_{10..13} sweep_trpo_{10..13})
benchmarks=(emulator rollout update reinforce trpo tune simulate)
steps=("${learning[@]}" "${benchmarks[@]/#/benchmark_}" "${sweeps[@]}" confirm_pg confirm_trpo first_commands policies)

# What a step's result depends on: games on the Trainables alone, all else on the programs too. The policies that come
# along matter to the step that plays them.
parts_of() {
    local games="trainables :!trainables/trained pyproject.toml"
    case $1 in
        policies) echo trainables pyproject.toml ;;
        a2c) echo "$games" ;; # and the page's section with its file
        pg | trpo | long_pg | long_trpo | karpathy | modular_rl) echo "$games search_spaces" ;;
        *) echo "$games search_spaces experiments" ;;
    esac
}

require_committed() { # PART ...: of the code
    [[ -z $(git -C "$code" status --porcelain -- "$@") ]] ||
        { echo "the code differs from its revision: commit or undo the changes first ($*)" >&2 && exit 2; }
}

needs() { # the step whose experiment a step goes on with, or has in its report
    case $1 in
        modular_rl) echo karpathy ;;
        confirm_pg | first_commands) echo sweep_pg ;;
        confirm_trpo) echo sweep_trpo ;;
    esac
}

revision_of() { # the last one that changed what a step's result depends on
    local parts changed
    read -ra parts <<< "$(parts_of "$1")"
    changed=("$(git -C "$code" log -1 --format=%H -- "${parts[@]}")")
    if [[ $1 == a2c ]]; then # of the page its file alone: all else there is text
        changed+=("$(git -C "$code" log -1 -s --format=%H -L '/^## The file/,:docs/own_learner.md')")
    fi
    git -C "$code" rev-list -1 "${changed[@]}"
}

published() { # STEP REVISION: whether what a step made of that code is in the data
    grep -q "\"$1\": \"$2\"" "$code/docs/reports/data/made.json"
}

publish() { # STEP: its data, its line of made.json and the tables, into the checkout
    "$python" "$code/docs/reports/publish.py" "$folder" "$1"
}

program() {
    "$python" "$programs/$1" "${@:2}"
}

experiment() { # NAME PROGRAM-AND-LEARNER FLAG ...: begins it, or goes on with it
    local name=$1 words
    read -ra words <<< "$2"
    shift 2
    if [[ -d $folder/$name ]]; then
        program "${words[@]}" --resume "$name" --storage-path "$folder"
    else
        program "${words[@]}" "$@" --name "$name" --storage-path "$folder"
    fi
}

sweep() { # NAME LEARNER SEED: timed from its command to its end, so one that was interrupted begins anew
    rm -rf "${folder:?}/$1"
    program benchmark.py sweep --learner "$2" --seed "$3" --keep "$folder/$1" --json "$folder/benchmark_$1.json"
}

# Functions of a step say `|| return`: where bash is asked whether a function failed, it ignores `set -e` within it.

seconds() { # PROGRAM ARGUMENT ...: runs it, and notes how long it took
    local begun=${EPOCHREALTIME/./}
    program "$@" || return
    printf '%s\t%.3f\n' "$1" "$(((${EPOCHREALTIME/./} - begun) / 1000))e-3" >> "$folder/first_commands.tsv"
}

first_commands() { # what README begins with, three times in turn
    local scratch=$folder/first_commands round
    rm -rf "$scratch" && mkdir "$scratch" && printf 'program\tseconds\n' > "$folder/first_commands.tsv" || return
    for round in 1 2 3; do
        seconds watch.py trained/pg --out "$scratch/$round.gif" &&
            seconds sweep_pong.py --smoke-test --name "smoke_$round" --storage-path "$scratch" &&
            seconds results.py report sweep_pg --out "$scratch/$round.html" --storage-path "$folder" || return
    done
}

games() { # LEARNER ACTIONS FLAG: of the policy that comes along, a line each
    program watch.py "trained/$1" --episodes 100 "$3" --out "$folder/policies.gif" > "$folder/games" || return
    sed -n "s/^game *[0-9]*: return +*\\(.*\\) in \\(.*\\) steps/$1\\t$2\\t\\1\\t\\2/p" "$folder/games" | tr -d , >> "$folder/policies.tsv"
}

policies() { # both of them
    local learner
    printf 'policy\tactions\treturn\tsteps\n' > "$folder/policies.tsv" || return
    for learner in pg trpo; do
        games "$learner" sampled --no-greedy && games "$learner" greedy --greedy || return
    done
}

report() { # NAME EXPERIMENT ...: the page of these; it names the folder of protocol.md
    local page=$code/docs/reports/$1.md here
    program results.py report "${@:2}" --out "${page%.md}.html" --storage-path "$folder" || return
    here=$(realpath --relative-to=. "$folder")
    sed -i -e "s#$folder#../published#g" -e "s#$code/##g" -e "s# $here/# ../published/#g" "$page"
}

long() { # LEARNER: far beyond the default's end, with the best policy, which comes along with the code
    local policy=$code/trainables/trained/$1
    experiment "long_$1" "train.py $1" --seed 71 --seeds 3 --timesteps 15000000 --keep-checkpoints all \
        --checkpoint-frequency 10 && report "long_$1" "long_$1" || return
    rm -rf "$policy"
    program results.py export "long_$1" --out "$policy" --storage-path "$folder"
}

film() { # what README begins with
    program watch.py long_pg --film --episodes 1 --out "$code/docs/learned.gif" --storage-path "$folder"
}

confirm() { # LEARNER PROGRAM: the winner and the baseline of its sweep, in the sweep's report
    experiment "sweep_$1-confirm" "$2" --confirm "sweep_$1" --best 1 --seeds 4 &&
        report "sweep_$1" "sweep_$1" "sweep_$1-confirm"
}

check() { # one seed of each learner, and the sweep by the published plan, which its report has
    local plan
    read -ra plan <<< "$(grep -om1 -e '--num-samples [0-9]* --timesteps [0-9]*' "$code/docs/reports/sweep_pg.md")"
    experiment check_pg "train.py pg" --seed 71
    experiment check_trpo "train.py trpo" --seed 0
    experiment check_sweep sweep_pong.py --seed 0 "${plan[@]}" --time-budget-s 36000 # enough on a slow machine, too
    exec "$python" "$code/docs/reports/publish.py" "$folder" --check
}

run_step() {
    case $1 in
        pg | trpo) experiment "$1" "train.py $1" --seed 71 --seeds 10 ;;
        long_pg) long pg && film ;;
        long_trpo) long trpo ;;
        a2c)
            sed '1,/^## The file/d' "$code/docs/own_learner.md" | sed '1,/^```python/d;/^```$/,$d' > "$folder/a2c.py"
            experiment a2c "train.py $folder/a2c.py:A2C" --seeds 3 --timesteps 2000000
            ;;
        karpathy) experiment karpathy "train.py pg" --preset karpathy --timesteps 5000000 ;;
        modular_rl)
            experiment modular_rl "train.py trpo" --preset modular_rl --timesteps 1000000 &&
                report originals karpathy modular_rl
            ;;
        sweep_pg | sweep_trpo) sweep "$1" "${1#sweep_}" 0 && report "$1" "$1" ;;
        sweep_pg_*) sweep "$1" pg "${1#sweep_pg_}" ;;
        sweep_trpo_*) sweep "$1" trpo "${1#sweep_trpo_}" ;;
        confirm_pg) confirm pg sweep_pong.py ;;
        confirm_trpo) confirm trpo sweep_trpo.py ;;
        benchmark_*) program benchmark.py "${1#benchmark_}" --json "$folder/$1.json" ;;
        first_commands) first_commands ;;
        policies) policies ;;
    esac
}

step() {
    local name=$1 now made start needed
    now=$(revision_of "$name")
    made=$([[ ! -f $folder/$name.begun ]] || cat "$folder/$name.begun")
    if [[ -f $folder/$name.done ]]; then
        published "$name" "$made" || publish "$name"
        [[ $made == "$now" ]] && echo "$name: done" || echo "$name: done, of ${made:0:12}"
        return
    fi
    if [[ -n $made && $made != "$now" ]]; then
        echo "$name in $folder was begun with other code (${made:0:12}, now ${now:0:12}): check that out, or name another" \
            "folder" >&2
        exit 2
    fi
    for needed in $(needs "$name"); do
        step "$needed"
    done
    [[ $name != policies ]] || require_committed trainables/trained # which other steps may have written just now
    echo "$now" > "$folder/$name.begun"
    echo "$name: $(date +%H:%M)"
    start=$SECONDS
    # shellcheck disable=SC2064
    trap "printf '%s\t%s\n' $name \$((SECONDS - start)) >> '$folder/seconds.tsv'" EXIT
    run_step "$name" >> "$folder/$name.log" 2>&1 || { echo "$name failed: $folder/$name.log" >&2 && exit 1; }
    trap - EXIT
    printf '%s\t%s\n' "$name" $((SECONDS - start)) >> "$folder/seconds.tsv"
    touch "$folder/$name.done"
    publish "$name"
    echo "$name: done in $((SECONDS - start)) s"
}

[[ $# -ge 1 && $1 != -* ]] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 2; }
require_committed trainables search_spaces experiments docs/own_learner.md pyproject.toml
[[ -x $python ]] || { echo "there is no $python: install as README.md says" >&2 && exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[[ $folder/ != "$code"/* ]] || { echo "$folder lies in the checkout: name a folder outside of it" >&2 && exit 2; }
shift
if [[ ${1:-} == --check ]]; then
    check
fi
for name in "$@"; do
    [[ " ${steps[*]} " == *" $name "* ]] ||
        { echo "there is no step $name; accepted: ${steps[*]}" >&2 && exit 2; }
done
for name in "${@:-${steps[@]}}"; do
    if [[ $# -eq 0 ]] && published "$name" "$(revision_of "$name")"; then
        echo "$name: published, of this code"
    else
        step "$name"
    fi
done
