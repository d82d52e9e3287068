"""Ten clients at a time use one folder of a cache, and are killed at random: `killed_cache.py CLIENT FOLDER KILLS`.

Prints checks: no kill leaves a wrong byte, and afterwards every response is stored and is used again.
"""

import hashlib
import http.client
import random
import subprocess
import sys
import threading
import time

from cached import Handler, Server


class Changing(Handler):
    def has_changed(self, name):
        return random.random() < 0.3


def check(output):
    """Counts a response, and whether its rest has the digest at its beginning."""
    global completed, wrong
    with lock:
        completed += 1
        wrong += hashlib.sha256(output[64:]).hexdigest().encode() != output[:64]


def run(path, *options):
    return subprocess.Popen(
        [client, server.url + path, "--cache", folder, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def settle():
    """Waits until the server has handled the requests of all clients, also of those that are gone. Nothing makes new ones."""
    # The server takes connections one after the other. It has a thread for each, besides this thread and its own.
    last = http.client.HTTPConnection("127.0.0.1", server.server_port)
    last.request("GET", "/")
    last.getresponse().read()
    last.close()
    while threading.active_count() > 2:
        time.sleep(0.01)


def use(seed):
    """Runs one client after another until enough are killed. One in ten is left alone."""
    global kills
    chance, number = random.Random(seed), seed
    while kills < wanted_kills:
        process = run(f"/{chance.randrange(6)}?{chance.randrange(3)}")
        outputs = []
        reader = threading.Thread(target=lambda: outputs.append(process.stdout.read()))
        reader.start()
        number += 1
        if number % 10:
            try:
                process.wait(chance.random() * 0.3)
            except subprocess.TimeoutExpired:
                process.kill()
                with lock:
                    kills += 1
        reader.join()
        if process.wait() == 0:
            check(outputs[0])


client, folder, wanted_kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
server, lock = Server(Changing), threading.Lock()
kills = completed = wrong = 0
threads = [threading.Thread(target=use, args=(seed,)) for seed in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
# The clients that are left alone are more than these.
print(f"responses come in spite of the kills\tTrue\t{completed > wanted_kills / 17}")
# The first time stores what is not stored yet.
for _ in range(2):
    settle()
    start = Handler.count
    for path in range(6):
        for age in range(3):
            check(run(f"/{path}?{age}", "--cache-mode", "force-cache").communicate()[0])
print(f"wrong bytes after kills\t0\t{wrong}")
print(f"requests when every response is stored\t0\t{Handler.count - start}")
print(f"{kills} kills, {completed} responses", file=sys.stderr)
