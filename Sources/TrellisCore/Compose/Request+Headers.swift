public import HTTPTypes

extension Request {
    /// Returns a copy in which a field replaces all fields of the same name.
    public func withHeader(_ field: HTTPField) -> Request { modified { $0.headers[fields: field.name] = [field] } }

    /// Returns a copy in which a field with a name and value replaces all fields of the same name.
    public func withHeader(_ name: HTTPField.Name, _ value: String) -> Request {
        // Setting a value by its name makes no array, but divides a cookie field at its semicolons.
        if name == .cookie { return withHeader(HTTPField(name: name, value: value)) }
        return modified { $0.headers[name] = value }
    }

    /// Returns a copy in which fields of one name replace all fields of that name.
    func withFields(_ fields: [HTTPField], of name: HTTPField.Name) -> Request {
        modified { $0.headers[fields: name] = fields }
    }

    /// Returns a copy in which a field with a name that is given as text, and a value, replaces all fields of the same name:
    /// `request.withHeader("X-API-Key", key)`. Sending a copy whose name is not a token (RFC 9110, section 5.1) is an error of kind
    /// ``TrellisError/Kind/invalidRequest``.
    public func withHeader(_ name: String, _ value: String) -> Request { modified { $0.headers[name] = value } }

    /// Returns a copy in which fields replace all fields of the same names. Fields that repeat a name are all sent.
    public func withHeaders(_ fields: HTTPFields) -> Request {
        modified { request in
            for name in Set(fields.map(\.name)) { request.headers[name] = nil }
            request.headers.append(contentsOf: fields)
        }
    }

    /// Returns a copy in which a list of fields replaces all fields of the same names. Fields that repeat a name are all sent.
    public func withHeaders(_ fields: [HTTPField]) -> Request { withHeaders(HTTPFields(fields)) }

    /// Returns a copy without the fields of a name. The session's default field of that name, if there is one, is sent instead.
    public func withoutHeader(_ name: HTTPField.Name) -> Request { modified { $0.headers[name] = nil } }

    /// Returns a copy with an additional field after the fields of the same name.
    public func addingHeader(_ field: HTTPField) -> Request { modified { $0.headers.append(field) } }

    /// Returns a copy with an additional field, given by name and value, after the fields of the same name.
    public func addingHeader(_ name: HTTPField.Name, _ value: String) -> Request {
        addingHeader(HTTPField(name: name, value: value))
    }

    /// Returns a copy with Basic credentials: ``HTTPTypes/HTTPField/authorization(username:password:)``. Sending the copy is an
    /// error of kind ``TrellisError/Kind/invalidRequest`` if the username contains a control character or a colon. The password may have
    /// any characters, such as the line ends of a key.
    public func withAuthorization(username: String, password: String) -> Request {
        withHeader(.authorization(username: username, password: password)) { () throws(TrellisError) in
            try CredentialText.check(basicName: username)
        }
    }

    /// Returns a copy with a bearer token: ``HTTPTypes/HTTPField/authorization(bearerToken:)``. Sending the copy is an error of
    /// kind ``TrellisError/Kind/invalidRequest`` if the token contains a control character, such as the end of the line that the
    /// token was read from.
    public func withAuthorization(bearerToken: String) -> Request {
        withHeader(.authorization(bearerToken: bearerToken)) { () throws(TrellisError) in
            try CredentialText.check(token: bearerToken)
        }
    }
}
