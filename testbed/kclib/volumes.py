"""Lets the pods' own users write to the volumes that they claim.

The controller manager makes the directories for root alone, and a kubelet gives
no directory of its host to a pod's `fsGroup`, as it does with real volumes.
"""
import os
import sys
import time

POLL_S = 0.2      # a pod starts half a second after its volume is made


def main(root: str) -> None:
    done: set[str] = set()
    while True:
        now = set(os.listdir(root))
        for name in now - done:
            os.chmod(os.path.join(root, name), 0o777)
        done = now
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(sys.argv[1])
