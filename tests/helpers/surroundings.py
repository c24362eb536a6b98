"""What stands round the programs: a cluster of several nodes, and an S3 server with one bucket."""

import contextlib
import http.client
import os
import posixpath
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from ray._common.network_utils import node_ip_address_from_perspective
from ray.cluster_utils import Cluster


class Nodes(Cluster):
    """Nodes that have the machine's address, as on a real cluster.

    By itself each would have that of this process's own Ray, if there is one: loopback, where programs that attach to
    the cluster do not look for it.
    """

    def add_node(self, wait=True, **options):
        return super().add_node(wait, **{"node_ip_address": node_ip_address_from_perspective()} | options)


SMALL = ["--checkpoint-frequency", 1, "--set=slots=6", "--set=segment_length=1000", "--set=updates_per_iteration=1"]
"""Flags of short iterations, each with a checkpoint."""


def cpus(cluster):
    """CPUs of the whole cluster that nobody holds, as a program that attaches sees them."""
    code = (
        "import experiments, ray; ray.init(address=%r, log_to_driver=False, logging_level='ERROR');"
        "print(ray.available_resources().get('CPU', 0))"
    )
    done = subprocess.run([sys.executable, "-c", code % cluster.address], capture_output=True, text=True, timeout=60)
    return float(done.stdout.splitlines()[0])  # Ray may add what it noticed of nodes


def processes(cluster, name):
    """Processes of Ray that have this name now, and their nodes: those whose raylets are their parents."""
    raylets = {node.all_processes["raylet"][0].process.pid: node for node in cluster.worker_nodes}
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in raylets and (folder / "cmdline").read_text().startswith(f"ray::{name}"):
                found[int(folder.name)] = raylets[parent]
    return found


def players(cluster):
    """The nodes of all rollout actors that are in a game now."""
    return [*processes(cluster, "RolloutActor.play").values()]


@contextlib.contextmanager
def s3_server():
    """Yields the URI of a folder in the bucket ``bucket``, and a client. ``tests/conftest.py`` sets the credentials."""
    import boto3  # slow to import, and needed by few tests
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        access = {"aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"]}
        access |= {"aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"], "region_name": "us-east-1"}
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **access)
        client.create_bucket(Bucket="bucket")
        yield f"s3://bucket/deep/pong?endpoint_override={host}:{port}&scheme=http&region=us-east-1", client
    finally:
        server.stop()


def put(client, key, body):
    """Write an object under any key, also one with dots, which S3 libraries take for a path and shorten.

    It lies at the shortened key too, where they look for it once it was listed.
    """
    client.put_object(Bucket="bucket", Key=posixpath.normpath(key), Body=body)
    connection = http.client.HTTPConnection(client.meta.endpoint_url.removeprefix("http://"))
    connection.request("PUT", "/bucket/" + quote(key).replace(".", "%2E"), body)
    connection.getresponse()  # refused where the object is there already, which is as good
    connection.close()
