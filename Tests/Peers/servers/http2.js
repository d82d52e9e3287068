// A server of Node's http2, for http2_servers.py: http2.js PORT CHAIN KEY
"use strict"

const fs = require("fs")
const http2 = require("http2")

const [port, chain, key] = process.argv.slice(2)
const server = http2.createSecureServer({ cert: fs.readFileSync(chain), key: fs.readFileSync(key) })

server.on("stream", (stream, headers) => {
  stream.on("error", () => {})
  switch (headers[":path"]) {
    case "/small":
      stream.respond()
      stream.end("hello world")
      break
    case "/sink": {
      let count = 0
      stream.on("data", (chunk) => { count += chunk.length })
      stream.on("end", () => {
        stream.respond()
        stream.end(`${count}`)
      })
      break
    }
    case "/trailers":
      stream.respond({}, { waitForTrailers: true })
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "42" }))
      stream.end("hello world")
      break
    case "/hints":
      stream.additionalHeaders({ ":status": 103, link: "</style.css>" })
      stream.respond()
      stream.end("hello world")
      break
    case "/early":
      stream.respond({ ":status": 413 })
      stream.end("enough")
      break
    // The server sends GOAWAY with this response.
    case "/away":
      stream.respond()
      stream.end("hello world")
      stream.session.close()
      break
    default:
      stream.respond({ ":status": 404 }, { endStream: true })
  }
})
server.listen(Number(port), "127.0.0.1")
