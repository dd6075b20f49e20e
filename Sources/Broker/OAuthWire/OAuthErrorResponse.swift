import StrictCoding

/// The body of a refusal. RFC 6749 §5.2.
public struct OAuthErrorResponse: Sendable {
    public let error: OAuthErrorCode
    /// For the developer of the app. A literal, so that nothing a caller sent can get into it; ASCII without `"` and `\`.
    public let description: StaticString
    /// With `interaction_required`: what the login must satisfy, as the app should ask the identity provider for it.
    /// RFC 9470 §3.
    public let contextClasses: [String]
    /// Seconds since the login, likewise.
    public let maximumAuthenticationAge: Int64?
    /// Likewise: the authorization request, but for what only the app can add to it. See ``AuthorizationRequest``.
    public let authorizationURI: String?

    public init(
        _ error: OAuthErrorCode, _ description: StaticString, contextClasses: [String] = [],
        maximumAuthenticationAge: Int64? = nil, authorizationURI: String? = nil
    ) {
        self.error = error
        self.description = description
        self.contextClasses = contextClasses
        self.maximumAuthenticationAge = maximumAuthenticationAge
        self.authorizationURI = authorizationURI
    }

    public var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 256)
        json.object { json in
            json.member("error", error.rawValue)
            json.member("error_description", description.description)
            if !contextClasses.isEmpty { json.member("acr_values", contextClasses.joined(separator: " ")) }
            if let maximumAuthenticationAge { json.member("max_age", maximumAuthenticationAge) }
            if let authorizationURI { json.member("authorization_uri", authorizationURI) }
        }
        return json.bytes
    }
}

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
