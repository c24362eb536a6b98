"""What a program listens on: its own sockets and those of all that it started, as Linux lists them."""

import contextlib
import os
from ipaddress import ip_address
from pathlib import Path

LISTENING = "0A"


def descendants(pid):
    """The numbers of a process and of all that descend from it."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pid):
    """The addresses at which a program listens, as {(its process's name, address)}."""
    addresses = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == LISTENING:
                addresses[f"socket:[{line.split()[9]}]"] = _address(local.partition(":")[0])
    found = set()
    for process in descendants(pid):
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{process}/comm").read_text().strip()
            for descriptor in Path(f"/proc/{process}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if address := addresses.get(os.readlink(descriptor)):
                        found.add((name, address))
    return found


def _address(hexadecimal):
    """From words of four bytes, each the wrong way round, as /proc has them on little-endian machines."""
    raw = bytes.fromhex(hexadecimal)
    address = ip_address(b"".join(raw[i : i + 4][::-1] for i in range(0, len(raw), 4)))
    return getattr(address, "ipv4_mapped", None) or address
