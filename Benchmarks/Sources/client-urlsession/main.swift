import ClientKit

await run(URLSessionClient.init)
