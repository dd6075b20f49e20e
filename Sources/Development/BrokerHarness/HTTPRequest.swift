import OAuthWire

/// A well-formed request, to be sent as it is or bent afterwards.
package struct HTTPRequest: Sendable {
    package var method: String
    package var target: String
    /// Beside `Host` and `Content-Length`.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    package var host: String? = "127.0.0.1"
    /// Whether the answer may be one of HTTP/1.0. The broker's never are.
    package var acceptsHTTP10 = false
    /// Leaves `Content-Length` to ``fields``.
    package var omitsLength = false

    package init(
        _ method: String, _ target: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// `POST /token` with this form, or the same to another endpoint.
    package static func token(
        _ form: [(name: String, value: String)], to target: String = "/token",
        fields: [(name: String, value: String)] = []
    ) -> HTTPRequest {
        HTTPRequest(
            "POST", target, fields: [("Content-Type", "application/x-www-form-urlencoded")] + fields,
            body: FormEncoder.encode(form))
    }

    /// The `Authorization` field of a client with a secret.
    package static func basic(_ client: String, _ secret: String) -> (name: String, value: String) {
        ("Authorization", BasicCredentials(clientID: client, clientSecret: Credential(secret)).headerValue)
    }

    package var octets: [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        if let host { head += "Host: \(host)\r\n" }
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        if !omitsLength, !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }

    /// Sends the request over a connection of its own.
    package func send(to port: UInt16) async throws -> HTTPAnswer {
        let connection = try await HTTPConnection.open(port: port)
        try await connection.send(octets)
        let answer = try await connection.receive(hasNoBody: method == "HEAD", acceptsHTTP10: acceptsHTTP10)
        guard let answer else { throw HTTPFailure.cutOff }
        return answer
    }
}
