import Trellis

/// The code of the page about redirects.
enum RedirectsPage {
    static func show(_ session: Session) async throws {
        let (data, response) = try await session.data("http://example.com/")
        print(response.url)  // where the response came from
        for redirect in response.redirects { print(redirect.status, redirect.from, "to", redirect.to) }
        print(data.count)
    }

    static func changeTheRules(_ configuration: inout SessionConfiguration, _ session: Session) async throws {
        configuration.redirects = RedirectPolicy(maximumRedirects: 5)
        if let tenant = HTTPField.Name("X-Tenant") { configuration.redirects?.secretFieldNames = [tenant] }
        let head = Request("https://example.com/old").withRedirectHandler(.doNotFollow)
        let (_, moved) = try await session.data(head)
        print(moved.status, moved.headers[.location] ?? "")  // 301 and the target
        configuration.steps.redirectHandler = .modify { request, response in
            guard request.url.hasPrefix("https://example.com/") else { return nil }
            return request.withHeader("X-Came-From", response.url)
        }
    }
}
