/// The monitors of one request.
extension Request {
    /// The monitors of this request alone, beside its session's (``SessionConfiguration/eventMonitors``). The default is none.
    ///
    /// A monitor gets the events of every call that is made with the request or a copy of it, from `created` on, with all attempts and
    /// redirects. A download and an event source make several calls, and it gets the events of all of them. It gets no events of other
    /// requests. A call that shares the response of another one (``RequestCoalescing``) has the event `coalesced` instead of the exchange.
    /// The validation of a stored response in the background belongs to the session.
    ///
    /// The events of one call are delivered one after the other. Calls that are under way at the same time deliver theirs at the same
    /// time. As a monitor of the session, a slow monitor loses the oldest events of its call beyond
    /// ``SessionConfiguration/eventBufferSize``, and ``Session/shutdown(drainingFor:)`` waits for it.
    public var eventMonitors: [any EventMonitor] {
        get { attachedSteps?.monitors ?? [] }
        set {
            guard let attached = attachedSteps, let steps = attached.own else {
                attachment = newValue.isEmpty ? nil : AttachedSteps(nil, newValue)
                return
            }
            attachment = AttachedSteps(steps, newValue, original: attached)
        }
    }

    /// Returns the request with one more monitor: see ``eventMonitors``.
    ///
    /// ```swift
    /// let (data, response) = try await session.data(Request(url).withEventMonitor(RequestLog(.verbose)))
    /// ```
    public func withEventMonitor(_ monitor: any EventMonitor) -> Request {
        var request = self
        request.eventMonitors.append(monitor)
        return request
    }
}
