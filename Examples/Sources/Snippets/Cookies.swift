import Trellis

/// The code of the page about cookies.
enum CookiesPage {
    static func keepInMemory(_ configuration: inout SessionConfiguration) async throws {
        let jar = CookieJar()
        configuration.cookies = jar
        let session = Session(configuration: configuration)
        _ = try await session.data("https://shop.example/login", timeout: .seconds(5))
        let cart = try await session.string("https://shop.example/cart")  // with the cookies of the login
        print(await jar.all)
        print(cart)
    }

    static func keepInAFile(_ configuration: inout SessionConfiguration) async {
        configuration.cookies = CookieFile(path: "cookies.txt")
        guard let cookies = configuration.cookies else { return }
        await cookies.removeSessionCookies()
    }

    static func sendByHand(_ jar: CookieJar, _ session: Session) async throws {
        await jar.store(["id=42; Path=/; Secure"], from: "https://shop.example/")
        let sent = await jar.cookies(for: "https://shop.example/cart").map(\.name)
        let page = try await session.string("https://shop.example/cart", headers: ["Cookie": "trial=1"])
        let clean = Request("https://shop.example/").withSteps { $0.cookies = CookieJar() }
        print(sent, page, clean)
    }
}
