extension Route {
    /// Returns the curl options that set the route for a URL with a port.
    func cURLArguments(port: Int) -> [String] {
        if let unixSocket {
            return [unixSocket.isAbstract ? "--abstract-unix-socket" : "--unix-socket", unixSocket.name]
        }
        var arguments: [String] = []
        switch addressFamily {
        case .any: break
        case .ipv4: arguments.append("--ipv4")
        case .ipv6: arguments.append("--ipv6")
        }
        if let source { arguments += ["--interface", source.name] }
        for entry in connectTo { arguments += ["--connect-to", entry.description] }
        for entry in addresses.texts(anyPort: "\(port)") { arguments += ["--resolve", entry] }
        return arguments
    }
}
