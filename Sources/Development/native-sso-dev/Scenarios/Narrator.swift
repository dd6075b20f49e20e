import BrokerHarness
import NativeSSOClient
import OAuthWire
import StrictCoding

/// Prints the walk-through. Whatever could be used again is cut short.
struct Narrator: Sendable {
    let write: @Sendable (String) -> Void

    /// A step of a document, by its own number.
    func step(_ document: Document, _ step: String, _ text: String) { write("\(document.author) \(step)  \(text)") }

    func note(_ text: String) { write("     \(text)") }

    /// A request to a token endpoint and its answer.
    func tokenRequest(_ request: TransportRequest, _ response: TransportResponse) {
        let form = try? FormDecoder.decode(request.body)
        let parameters = Self.parameters.compactMap { name in
            form?[name].map { "\(name)=\(Self.shown(name, $0))" }
        }
        note("→ POST \(request.address)\(request[field: "Authorization"].map(Self.authorization) ?? "")")
        note("  \(parameters.joined(separator: " "))")
        let members = (try? JSONReader.parse(response.body))?.object?.members ?? []
        let shown = members.map { "\($0.name)=\(Self.shown($0.name, Self.text($0.value)))" }
        note("← \(response.status) \(shown.joined(separator: " "))")
    }

    /// What the browser did.
    func visit(_ visit: UserAgent.Visit) {
        let target = visit.location.map { " → \(Self.address($0))" } ?? ""
        note("browser: \(visit.method) \(Self.address(visit.address)) ← \(visit.status)\(target)")
    }

    /// An address without what could be used again.
    static func address(_ address: String) -> String {
        guard let mark = address.firstIndex(of: "?") else { return address }
        let query = address[address.index(after: mark)...].split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return String(pair) }
            return "\(parts[0])=\(shown(String(parts[0]), String(parts[1])))"
        }
        return "\(address[..<mark])?\(query.joined(separator: "&"))"
    }

    /// Both ends of a secret: enough to tell it from another.
    static func short(_ secret: String) -> String {
        secret.utf8.count < 32 ? "****" : "\(secret.prefix(4))…\(secret.suffix(4))"
    }

    static func text(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): return text
        case .number(let number): return number.text
        case .bool, .null, .array, .object:
            return String(decoding: value.octets, as: UTF8.self)
        }
    }

    /// The client of HTTP Basic credentials.
    private static func authorization(_ header: String) -> String {
        guard case .basic(let credentials) = AuthorizationHeader(header) else { return " (unreadable credentials)" }
        return " (Basic \(credentials.clientID):\(credentials.clientSecret == nil ? "" : "****"))"
    }

    private static let parameters = [
        Parameter.grantType, Parameter.clientID, Parameter.code, Parameter.redirectURI, Parameter.codeVerifier,
        Parameter.deviceID, Parameter.deviceSecret, Parameter.audience, Parameter.subjectToken,
        Parameter.subjectTokenType, Parameter.actorToken, Parameter.actorTokenType, Parameter.requestedTokenType,
        Parameter.refreshToken, Parameter.scope, Parameter.handoffClient, Parameter.handoffOrigin,
        Parameter.handoffChallenge, Parameter.handoffVerifier,
    ]

    /// A value that could be used again is cut short.
    static func shown(_ name: String, _ value: String) -> String {
        [
            "grant_type", "client_id", "redirect_uri", "audience", "subject_token_type", "actor_token_type",
            "requested_token_type", "scope", "response_type", "code_challenge_method", "prompt", "iss", "token_type",
            "issued_token_type", "expires_in", "handoff_client", "handoff_origin",
            "error", "error_description", "user", "source", "iss", "data", "records", "roles",
        ].contains(name) ? value : short(value)
    }
}
