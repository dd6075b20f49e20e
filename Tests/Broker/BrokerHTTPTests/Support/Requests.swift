@testable import BrokerHTTP
import OAuthWire
import StrictCoding

/// Requests as octets.
enum Requests {
    typealias Parameters = [(name: String, value: String)]

    static let exchange: Parameters = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("client_id", "app-two"),
        ("audience", "https://idp.example.com"),
        ("subject_token", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("actor_token", Domain.deviceID),
        ("actor_token_type", "urn:x-oath:params:oauth:token-type:device-id"),
    ]

    /// The body of ``exchange``.
    static let exchangeBody = String(decoding: FormEncoder.encode(exchange), as: UTF8.self)

    /// Draft 07.
    static let currentExchange = changed(
        exchange,
        [
            ("actor_token", Domain.deviceSecret),
            ("actor_token_type", "urn:openid:params:token-type:device-secret"),
        ])

    static func refresh(_ token: String, client: String = "app-two") -> Parameters {
        [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)]
    }

    /// - Parameter changes: `nil` removes the parameter.
    static func changed(_ parameters: Parameters, _ changes: [(String, String?)]) -> Parameters {
        var parameters = parameters
        for (name, value) in changes {
            let index = parameters.firstIndex { $0.name == name }
            switch (index, value) {
            case (let index?, let value?): parameters[index].value = value
            case (let index?, nil): parameters.remove(at: index)
            case (nil, let value?): parameters.append((name, value))
            case (nil, nil): break
            }
        }
        return parameters
    }

    static func post(_ parameters: Parameters, headers: [String] = []) -> String {
        post(String(decoding: FormEncoder.encode(parameters), as: UTF8.self), headers: headers)
    }

    static func post(
        _ body: String, target: String = "/token", method: String = "POST",
        contentType: String? = "application/x-www-form-urlencoded", headers: [String] = []
    ) -> String {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: sso.example.com"]
        if let contentType { lines.append("Content-Type: \(contentType)") }
        lines += headers
        lines.append("Content-Length: \(body.utf8.count)")
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    static func get(_ target: String) -> String { "GET \(target) HTTP/1.1\r\nHost: internal\r\n\r\n" }

    static func basic(_ userpass: String) -> String {
        "Authorization: Basic \(Base64.encode(Array(userpass.utf8)))"
    }
}

extension TestBroker {
    /// The answer to one request on a new connection.
    func answer(_ request: String) async throws -> RawAnswer? { try await answer(request, at: ports.public) }

    func answer(_ parameters: Requests.Parameters, headers: [String] = []) async throws -> RawAnswer? {
        try await answer(Requests.post(parameters, headers: headers))
    }

    func internalAnswer(_ request: String, from source: String? = nil) async throws -> RawAnswer? {
        try await answer(request, at: ports.internal, from: source)
    }

    /// The answer of the backchannel listener.
    func backchannelAnswer(_ request: String) async throws -> RawAnswer? {
        try await answer(request, at: ports.backchannel ?? 0)
    }

    private func answer(_ request: String, at port: Int, from source: String? = nil) async throws -> RawAnswer? {
        try await RawClient.connect(to: port, from: source) { client in
            await client.trySend(request)
            return try await client.answer()
        }
    }
}
