"""unbound as a server of DNS over HTTPS (RFC 8484), which it serves over HTTP/2 alone, at /dns-query. Prints
{"ca": PATH, "ports": {"doh": PORT}}. Its certificate is signed by an intermediate. It knows the names of example and nothing else:

    both.example            an IPv4 and an IPv6 address, for 300 and for 200 seconds
    v4.example, v6.example  an address of one version of IP
    many.example            100 IPv6 addresses
    *.kept.example          127.0.0.1 for 300 seconds
    *.zero.example          the same for 0 seconds
    *.refused.example       unbound refuses to respond
    *.failing.example       unbound fails, because it finds no server for these names

Commands:

    log      answers the questions so far, in the order of their arrival: ["both.example. AAAA", …]
    restart  kills unbound, starts it again at the same port, and answers true when it takes connections
"""

import os
import socket
import time

import peer
from certificates import Authority
from real_servers import free_port, start

CONFIGURATION = """
server:
    directory: "{folder}"
    chroot: ""
    username: ""
    pidfile: ""
    logfile: "{folder}/queries.log"
    use-syslog: no
    log-queries: yes
    verbosity: 0
    num-threads: 1
    incoming-num-tcp: 100
    interface: 127.0.0.1@{port}
    https-port: {port}
    tls-service-pem: "{chain}"
    tls-service-key: "{key}"
    http-endpoint: "/dns-query"
    module-config: "iterator"
    root-hints: ""
    local-zone: "example." static
    local-data: "both.example. 300 IN A 192.0.2.7"
    local-data: "both.example. 200 IN AAAA 2001:db8::7"
    local-data: "v4.example. 60 IN A 192.0.2.1"
    local-data: "v6.example. 60 IN AAAA 2001:db8::1"
{many}
    local-zone: "kept.example." redirect
    local-data: "kept.example. 300 IN A 127.0.0.1"
    local-zone: "zero.example." redirect
    local-data: "zero.example. 0 IN A 127.0.0.1"
    local-zone: "refused.example." always_refuse
    local-zone: "failing.example." transparent
forward-zone:
    name: "."
    # No server may be on this machine, so that nothing is sent.
    forward-addr: 127.0.0.1@9
remote-control:
    control-enable: no
"""


def wait_until_accepting(port):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)


async def main():
    authority = Authority()
    chain, key = authority.files_of_intermediate("127.0.0.1", "localhost")
    folder = peer.temporary_folder()
    port = free_port()
    many = "\n".join(f'    local-data: "many.example. 60 IN AAAA 2001:db8::{number:x}"' for number in range(1, 101))
    path = os.path.join(folder, "unbound.conf")
    with open(path, "w") as file:
        file.write(CONFIGURATION.format(folder=folder, port=port, chain=chain, key=key, many=many))
    command = ("unbound", "-d", "-c", path)
    servers = [start(*command, folder=folder)]
    wait_until_accepting(port)

    def log():
        with open(os.path.join(folder, "queries.log")) as file:
            lines = [line.split() for line in file if " info: 127.0.0.1 " in line]
        return [f"{words[-3]} {words[-2]}" for words in lines]

    def restart():
        server = servers.pop()
        server.kill()
        server.wait()
        servers.append(start(*command, folder=folder))
        wait_until_accepting(port)
        return True

    announcement = {"ca": authority.path, "ports": {"doh": port}}
    await peer.serve_until_stdin_ends(announcement, peer.Connections(), {b"log": log, b"restart": restart})


if __name__ == "__main__":
    peer.run(main)
