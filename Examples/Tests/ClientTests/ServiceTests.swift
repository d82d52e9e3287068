import Testing

/// The examples of services, which peers check.
@Suite(.timeLimit(.minutes(60))) struct ServiceTests {
    /// The parts are functions of `services.py`: a service that ends under load and one that ends during a request, its settings, the
    /// example without sockets, and the exporter of spans and metrics.
    @Test(arguments: ["load", "grace", "settings", "without-sockets", "otlp"])
    func theExamplesDoWhatTheyShow(part: String) async throws {
        try await expectAgreement(of: "services.py", [Programs.folder, part])
    }
}
