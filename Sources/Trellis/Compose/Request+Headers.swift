public import HTTPTypes

extension Request {
    /// A copy with a field in place of all of the same name.
    public func withHeader(_ field: HTTPField) -> Request { modified { $0.headerFields[fields: field.name] = [field] } }

    /// A copy with a field in place of all of the same name.
    public func withHeader(_ name: HTTPField.Name, _ value: String) -> Request {
        withHeader(HTTPField(name: name, value: value))
    }

    /// A copy with fields in place of all of the same names. Fields that repeat a name are all sent.
    public func withHeaders(_ fields: HTTPFields) -> Request {
        modified { request in
            for name in Set(fields.map(\.name)) { request.headerFields[name] = nil }
            request.headerFields.append(contentsOf: fields)
        }
    }

    /// A copy with fields in place of all of the same names. Fields that repeat a name are all sent.
    public func withHeaders(_ fields: [HTTPField]) -> Request { withHeaders(HTTPFields(fields)) }

    /// A copy without fields of a name. The session's default field of that name, if it has one, is sent then.
    public func withoutHeader(_ name: HTTPField.Name) -> Request { modified { $0.headerFields[name] = nil } }

    /// A copy with one more field, after those of the same name.
    public func addingHeader(_ field: HTTPField) -> Request { modified { $0.headerFields.append(field) } }

    /// A copy with one more field, after those of the same name.
    public func addingHeader(_ name: HTTPField.Name, _ value: String) -> Request {
        addingHeader(HTTPField(name: name, value: value))
    }

    /// A copy with Basic credentials: ``HTTPTypes/HTTPField/authorization(username:password:)``. With a control character in
    /// them, or a colon in the name, sending it is an error of kind ``TrellisError/Kind/invalidRequest``.
    public func withAuthorization(username: String, password: String) -> Request {
        withHeader(.authorization(username: username, password: password)) { () throws(TrellisError) in
            try CredentialText.check(username: username, password: password)
        }
    }

    /// A copy with a bearer token: ``HTTPTypes/HTTPField/authorization(bearerToken:)``. With a control character in it, such as
    /// the end of the line that it was read from, sending it is an error of kind ``TrellisError/Kind/invalidRequest``.
    public func withAuthorization(bearerToken: String) -> Request {
        withHeader(.authorization(bearerToken: bearerToken)) { () throws(TrellisError) in
            try CredentialText.check(token: bearerToken)
        }
    }
}
