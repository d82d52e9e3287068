public import TrellisCore

extension SessionConfiguration {
    /// The store of the hosts that are to be reached over https alone; if `nil`, the default, URLs are requested as they are.
    public var hsts: HSTSStore? {
        get { secureHosts as? HSTSStore }
        set { secureHosts = newValue }
    }

    /// The store of alternative services, such as HTTP/3 on the same host; if `nil`, the default, requests go to their origins.
    public var alternativeServices: AlternativeServiceStore? {
        get { alternatives as? AlternativeServiceStore }
        set { alternatives = newValue }
    }
}
