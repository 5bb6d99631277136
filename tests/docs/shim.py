"""Stands for `lamina` in a shell: the tests' process, which listens at a socket, runs the command and tells its end."""

import json
import os
import signal
import socket
import sys


def main(address: str, words: list[str]) -> int:
    given = sys.stdin.buffer.read().decode()
    asked = {"words": words, "folder": os.getcwd(), "environ": dict(os.environ), "given": given}  # noqa: PTH109 - quick
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(json.dumps(asked).encode())
        line.shutdown(socket.SHUT_WR)
        told = json.loads(b"".join(iter(lambda: line.recv(1 << 16), b"")))
    for stream, text in ((sys.stdout, told["out"]), (sys.stderr, told["err"])):
        stream.buffer.write(text.encode())
        stream.flush()
    return int(told["code"])


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| grep -m1` reads no further
    sys.exit(main(sys.argv[1], sys.argv[2:]))
