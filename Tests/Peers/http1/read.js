// Reads the responses of responses.json with Node's client, whose parser is llhttp, and prints what it finds in them: a JSON object for
// each, in order.
const fs = require('fs');
const http = require('http');
const net = require('net');

function read(given) {
  return new Promise(resolve => {
    const server = net.createServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(Buffer.from(given.bytes, 'latin1')));
    });
    const end = result => {
      server.close();
      request.destroy();
      resolve(result);
    };
    let request;
    server.listen(0, '127.0.0.1', () => {
      request = http.request({ port: server.address().port, method: given.method, agent: false });
      request.on('error', error => end({ refused: error.code || error.message }));
      request.on('upgrade', response => end({ status: response.statusCode, fields: response.rawHeaders.length / 2, body: '', trailers: 0 }));
      request.on('response', response => {
        const parts = [];
        response.on('data', part => parts.push(part));
        response.on('error', error => end({ refused: error.code || error.message }));
        response.on('end', () => end({
          status: response.statusCode, fields: response.rawHeaders.length / 2,
          body: Buffer.concat(parts).toString('latin1'), trailers: response.rawTrailers.length / 2,
        }));
      });
      request.end();
    });
  });
}

(async () => {
  for (const given of JSON.parse(fs.readFileSync(0, 'utf8'))) console.log(JSON.stringify(await read(given)));
})();
