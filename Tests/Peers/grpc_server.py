"""A gRPC server of the package grpcio, with and without TLS, whose messages are bytes. Prints {"ca": PATH, "ports": {"tls", "cleartext"}}.

    /test.Echo/Unary    sends the message back; the message `fail` is the error 5 (NOT_FOUND) with the text `nothing here`
    /test.Echo/Both     sends each message back as soon as it comes, until the client has ended its messages
    /test.Echo/First    sends the first message back and ends the call at the second one, whatever follows
    /test.Echo/Count    sends each message back as it comes and, after the end of the client's messages, a hundred numbers
"""

import grpc
import peer
from certificates import Authority


async def unary(message, context):
    if message == b"fail":
        await context.abort(grpc.StatusCode.NOT_FOUND, "nothing here")
    return message


async def both(messages, context):
    async for message in messages:
        yield message


async def first(messages, context):
    has_answered = False
    async for message in messages:
        if has_answered:
            return
        yield message
        has_answered = True


async def count(messages, context):
    async for message in messages:
        yield message
    for number in range(100):
        yield b"%d" % number


async def main():
    authority = Authority()
    chain, key = (open(path, "rb").read() for path in authority.files())
    server = grpc.aio.server()
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Both": grpc.stream_stream_rpc_method_handler(both),
        "First": grpc.stream_stream_rpc_method_handler(first),
        "Count": grpc.stream_stream_rpc_method_handler(count),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", handlers),))
    ports = {
        "cleartext": server.add_insecure_port("127.0.0.1:0"),
        "tls": server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)])),
    }
    await server.start()
    await peer.serve_until_stdin_ends({"ca": authority.path, "ports": ports}, peer.Connections())


if __name__ == "__main__":
    peer.run(main)
