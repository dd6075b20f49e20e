/// A request to an authorization endpoint, for the system browser. RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1.
public struct AuthorizationRequest: Sendable {
    public let endpoint: String
    public private(set) var parameters: [(name: String, value: String)]

    public init(to endpoint: String, clientID: String, scope: String) {
        self.endpoint = endpoint
        parameters = [("response_type", "code"), (Parameter.clientID, clientID), (Parameter.scope, scope)]
    }

    public mutating func add(_ name: String, _ value: String) { parameters.append((name, value)) }

    /// What the login has to satisfy; `acr_values` in the order of preference.
    public mutating func demand(contextClasses: [String], maximumAge: Int64?) {
        if !contextClasses.isEmpty { add("acr_values", contextClasses.joined(separator: " ")) }
        if let maximumAge { add("max_age", String(maximumAge)) }
    }

    public var uri: String { Self.adding(parameters, to: endpoint) }

    /// An address may have a query of its own already (RFC 6749 §3.1).
    public static func adding(_ parameters: [(name: String, value: String)], to address: String) -> String {
        let separator = address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return address + separator + String(decoding: FormEncoder.encode(parameters), as: UTF8.self)
    }
}
