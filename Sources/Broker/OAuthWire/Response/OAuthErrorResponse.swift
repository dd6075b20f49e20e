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
