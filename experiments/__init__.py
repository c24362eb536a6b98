"""Programs that train, sweep, watch and measure, and the rooms that they are made of."""

import os

import trainables  # noqa: F401 - chooses BLAS's kernels, before NumPy is imported

# Ray reads these when it is imported, and this module comes before any import of Ray.
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # under `uv run`, do not pack the working directory
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # one warning less per worker
if "RAY_AUTH_TOKEN" in os.environ or os.path.isfile(os.path.expanduser("~/.ray/auth_token")):
    # Since 2.60 `ray start` guards a cluster with this token, but `ray.init(address=...)` shows it only if told to.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
# A game's gradient of half a megabyte comes with the reply: by way of the object store it takes 2 ms longer, and no one
# else wants it.
os.environ.setdefault("RAY_max_direct_call_object_size", "4000000")
# Ray would start a worker a core, which rollout actors cannot use: they have an environment of their own. Each looks
# for work a hundred times a second, which is 1% of a core, and is in the way while the program starts.
os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
# Ray would note each task for its dashboard, which is not there, and how long each event takes for its own logs.
os.environ.setdefault("RAY_task_events_report_interval_ms", "0")
os.environ.setdefault("RAY_event_stats", "0")
