import CurlEngine

/// The cookies of an exchange.
extension Pipeline {
    /// Returns a request with the cookies that the jar has for it.
    @inline(never)
    func addingCookies(to request: Request) async -> Request {
        if let jar = steps.cookies as? CookieJar { return jar.addingCookies(to: request) }
        guard let jar = steps.cookies, let url = CookieURL(request.url) else { return request }
        let cookies = await jar.cookies(for: url)
        tellFailure(of: jar)
        return request.adding(cookies)
    }

    /// Stores the cookies of a response in the jar.
    @inline(never)
    func keepCookies(of answer: StepResponse, to request: Request) async {
        if let jar = steps.cookies as? CookieJar {
            return jar.keepCookies(of: answer.response, to: request)
        }
        guard answer.response.headers.contains(.setCookie), let jar = steps.cookies,
            let url = CookieURL(request.url)
        else { return }
        await jar.store(answer.response.head.texts(of: .setCookie), from: url)
        tellFailure(of: jar)
    }
}
