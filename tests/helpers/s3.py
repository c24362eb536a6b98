"""An S3 server of one's own, with one bucket. ``tests/conftest.py`` sets the credentials that it takes."""

import contextlib
import http.client
import os
import posixpath
from urllib.parse import quote


@contextlib.contextmanager
def s3_server():
    """Yields the URI of a folder in the bucket ``bucket``, and a client."""
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
