import Trellis

func observe() async throws {
    var configuration = SessionConfiguration()
    configuration.eventMonitors = [RequestLog()]
    let session = Session(configuration: configuration)

    let (_, response) = try await session.data("https://example.com/")
    print(response.metrics)

    for await event in session.requestEvents {
        if case .retrying = event.kind { print(event.callID, event.method, event.url) }
    }

    let recorder = HARRecorder(bodyLimit: 4096)
    configuration.eventMonitors = [recorder]

    await session.shutdown(drainingFor: .seconds(20))
}
