import TrellisCore

/// A transport in front of another one.
protocol WrappingTransport: Transport {
    /// The other transport.
    var wrapped: any Transport { get }
}

extension Transport {
    /// The innermost transport; the transport itself if it wraps none.
    var innermost: any Transport {
        guard let wrapping = self as? any WrappingTransport else { return self }
        return wrapping.wrapped.innermost
    }
}
