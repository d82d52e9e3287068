import CCurl
import Testing

@testable import CurlEngine

/// The replies of the kernel on a route socket.
@Suite(.timeLimit(.minutes(3)))
struct RouteSocketTests {
    /// A reading that has failed leaves replies on its socket, which the monitor uses again.
    @Test func repliesToAnEarlierRequestDoNotCount() throws {
        let socket = try #require(RouteSocket(.nothing))
        // The number of the first request of each reading.
        #expect(ccurl_route_request(socket.descriptor, NetlinkMessage.Kind.getAddresses, 1))
        let state = try #require(socket.readState())
        #expect(!state.links.isEmpty)
    }
}
