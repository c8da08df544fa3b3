#!/usr/bin/env python3
"""tee.py FOLDER -- COMMAND...: runs a command and keeps a copy of every byte of its three streams.

The copies are FOLDER/START-PID.{in,out,err}, beside them at last a .status. Nothing is looked at, nothing is held back.
Ends as the command ended; TERM, INT and HUP are passed on to it. This is the yardstick beside the tap, so it stays too
simple to be wrong.
"""
import os
import signal
import subprocess
import sys
import threading
import time


def pump(source, target, copy):
    while True:
        chunk = os.read(source, 65536)
        if not chunk:
            break
        os.write(copy, chunk)
        while chunk:
            try:
                chunk = chunk[os.write(target, chunk):]
            except BrokenPipeError:
                # Nobody reads any more; what still comes was said, and is kept.
                target, chunk = os.open(os.devnull, os.O_WRONLY), b""
    os.close(target)


def main():
    folder, dashes, *command = sys.argv[1:]
    assert dashes == "--" and command, __doc__
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, f"{time.time_ns()}-{os.getpid()}")
    copies = [os.open(f"{base}.{end}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600) for end in ("in", "out", "err")]
    child = subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: child.send_signal(number))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    ways = [(0, os.dup(child.stdin.fileno()), copies[0]), (os.dup(child.stdout.fileno()), 1, copies[1]),
            (os.dup(child.stderr.fileno()), 2, copies[2])]
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()
    threads = [threading.Thread(target=pump, args=way, daemon=True) for way in ways]
    for thread in threads:
        thread.start()
    status = child.wait()
    for thread in threads[1:]:
        thread.join(5)
    with open(f"{base}.part", "w", encoding="ascii") as file:
        file.write(f'{{"signal": {-status}}}' if status < 0 else f'{{"code": {status}}}')
    os.rename(f"{base}.part", f"{base}.status")
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
