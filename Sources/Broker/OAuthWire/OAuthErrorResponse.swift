import StrictCoding

/// The body of an OAuth error response. RFC 6749 §5.2.
public struct OAuthErrorResponse: Sendable {
    public let error: OAuthErrorCode
    /// For the app's developer. A literal, so it cannot contain input of the caller; ASCII without `"` and `\`.
    public let description: StaticString
    /// With `interaction_required`: the `acr_values` that the app should request from the IdP. RFC 9470 §3.
    public let contextClasses: [String]
    /// With `interaction_required`: the `max_age` in seconds that the app should request.
    public let maximumAuthenticationAge: Int64?
    /// With `interaction_required`: the authorization request, without the parameters that only the app can add. See
    /// ``AuthorizationRequest``.
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

    /// Requirements on the login; `acr_values` in order of preference.
    public mutating func demand(contextClasses: [String], maximumAge: Int64?) {
        if !contextClasses.isEmpty { add("acr_values", contextClasses.joined(separator: " ")) }
        if let maximumAge { add("max_age", String(maximumAge)) }
    }

    public var uri: String { Self.adding(parameters, to: endpoint) }

    /// `address` may already have a query (RFC 6749 §3.1).
    public static func adding(_ parameters: [(name: String, value: String)], to address: String) -> String {
        let separator = address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return address + separator + String(decoding: FormEncoder.encode(parameters), as: UTF8.self)
    }
}
