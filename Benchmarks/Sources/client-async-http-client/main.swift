import ClientKit

await run(AsyncHTTPClientClient.init)
