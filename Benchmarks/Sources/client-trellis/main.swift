import ClientKit

await run(TrellisClient.init)
