import StrictCoding

/// A revocation request with a valid form and an authenticated client; it prints as `****`. RFC 7009 §2.1.
package struct RevocationRequest: Sendable, Redacted {
    package let requestID: UniqueID
    package let client: Client
    /// As presented. A credential.
    let token: String
    /// Whether the app says that the token is a `device_secret`.
    let isSaidToBeDeviceSecret: Bool
    /// The `device_id` beside a refresh token: then the app signs the device out.
    let deviceID: DeviceValue?

    package init(
        requestID: UniqueID, client: Client, token: String, isSaidToBeDeviceSecret: Bool, deviceID: DeviceValue?
    ) {
        self.requestID = requestID
        self.client = client
        self.token = token
        self.isSaidToBeDeviceSecret = isSaidToBeDeviceSecret
        self.deviceID = deviceID
    }
}

/// An app ends its grant, or signs its device out. RFC 7009.
///
/// - A refresh token ends the app's grant. A token of an earlier generation does so too: the app may have lost the
///   answer with its successor.
/// - A `device_secret` ends the sessions of that device in the client's groups. So does a refresh token beside the
///   `device_id` of its device, as long as its grant is alive.
/// - Any other value ends nothing and is no error (RFC 7009 §2.2), except a JWT: access tokens and id_tokens cannot be
///   revoked.
package struct Revocation: Sendable {
    private let registry: any RevocationRegistry
    private let refreshTokens: any RefreshTokenAuthenticator
    private let devices: any DeviceDigester
    private let limits: any UseLimits
    private let issuers: [Issuer]

    /// - Parameter issuers: The identity providers whose devices can sign out.
    package init(
        registry: any RevocationRegistry, refreshTokens: any RefreshTokenAuthenticator, devices: any DeviceDigester,
        limits: any UseLimits, issuers: [Issuer]
    ) {
        self.registry = registry
        self.refreshTokens = refreshTokens
        self.devices = devices
        self.limits = limits
        self.issuers = issuers
    }

    package struct Ended: Sendable, Hashable {
        package var sessions: Int64 = 0
        package var grants: Int64 = 0
    }

    /// Returns when the end is committed, or there is nothing to end.
    /// - Parameter subject: Receives the grant, once it is known.
    package func run(
        _ request: RevocationRequest, about subject: inout AuditSubject
    ) async throws(RevocationError) -> Ended {
        if RefreshToken.hasForm(request.token) { return try await endGrant(request, about: &subject) }
        if !request.isSaidToBeDeviceSecret {
            guard !Self.isJWT(request.token) else { throw .refused(.unsupportedTokenType) }
            guard DeviceValue.hasFormOfOwnSecret(request.token) else { return Ended() }
        }
        guard let device = DeviceValue(request.token, profile: .deviceSecret) else { return Ended() }
        return Ended(sessions: try await signOut(device, request, holding: nil))
    }

    private func endGrant(
        _ request: RevocationRequest, about subject: inout AuditSubject
    ) async throws(RevocationError) -> Ended {
        let presented = try await RevocationError.port { () async throws(PortError) in
            try await RefreshToken.decode(request.token, by: refreshTokens)
        }
        guard let grant = presented?.grantID else { return Ended() }
        subject.grant = grant  // the tag vouches for it
        try RevocationError.counting { () throws(RateLimited) in
            try limits.charge(refreshOf: grant, by: request.client)
        }
        var ended = Ended()
        // The sessions first: the grant proves that the app may end them, so a repeated request can finish the work.
        if let device = request.deviceID { ended.sessions = try await signOut(device, request, holding: grant) }
        let end = try await RevocationError.port { () async throws(PortError) in
            try await registry.end(grant, of: request.client.id, requestID: request.requestID)
        }
        switch end {
        case .ended: ended.grants = 1
        case .none: break
        case .foreign: throw .refused(.foreignClient)
        }
        return ended
    }

    private func signOut(
        _ device: DeviceValue, _ request: RevocationRequest, holding grant: UniqueID?
    ) async throws(RevocationError) -> Int64 {
        try await RevocationError.port { () async throws(PortError) in
            var digests: [Issuer: DeviceDigest] = [:]
            for issuer in issuers { digests[issuer] = try await devices.digest(device, at: issuer) }
            return try await registry.signOut(
                digests, of: request.client.id, holding: grant, requestID: request.requestID)
        }
    }

    /// Whether a value is a compact JWS, as every access token and id_token is. `eyJ` is `{"` in base64url.
    private static func isJWT(_ token: String) -> Bool {
        token.utf8.starts(with: "eyJ".utf8) && token.utf8.count { $0 == UInt8(ascii: ".") } == 2
    }
}

/// Why a revocation is refused. RFC 7009 §2.1, §2.2.1.
package enum RevocationRefusal: Error, Sendable, CaseIterable {
    /// An access token or an id_token.
    case unsupportedTokenType
    /// The refresh token is another client's. Nothing ends.
    case foreignClient
}

package typealias RevocationError = GrantError<RevocationRefusal>
