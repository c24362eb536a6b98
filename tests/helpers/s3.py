"""An S3 server of one's own, with one bucket. ``tests/conftest.py`` sets the credentials that it takes."""

import contextlib
import os


@contextlib.contextmanager
def s3_server():
    """Yields the URI of a folder in the bucket ``bucket``, and a client that writes any key."""
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
