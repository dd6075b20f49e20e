package import JOSE
package import NativeSSO
import StrictCoding

/// Verifies id_tokens of the configured IdPs. ``verify(_:from:for:at:)`` lists the checks; the protocol lists what
/// callers must check.
package struct IDTokenValidator: IDTokenVerifier {
    package struct Provider: Sendable {
        package let keys: ProviderKeys
        /// The algorithms that this issuer may use (RFC 8725 §3.1). From the configuration, never from a token or
        /// metadata.
        package let algorithms: Set<SignatureAlgorithm>

        package init(keys: ProviderKeys, algorithms: Set<SignatureAlgorithm>) {
            self.keys = keys
            self.algorithms = algorithms
        }
    }

    private let providers: [Issuer: Provider]
    private let subjects: SubjectPrefixes
    private let enrolled: EnrolledIDTokens?

    /// - Parameters:
    ///   - subjects: Must hold each of the IdPs.
    ///   - enrolled: `nil`: the broker does not accept its own id_tokens.
    package init(_ providers: [Provider], subjects: SubjectPrefixes, enrolled: EnrolledIDTokens? = nil) {
        self.subjects = subjects
        self.enrolled = enrolled
        self.providers = Dictionary(providers.map { ($0.keys.issuer, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// 1. Compact form, sizes, and a header without dangerous parameters (RFC 7515 §7.1, §4.1.11; RFC 8725 §3.6).
    /// 2. `alg` is on the issuer's list; `typ` is absent or `JWT` (RFC 8725 §3.1, §3.11). If not, or if no known key fits,
    ///    a token whose `iss` names another issuer is refused for that: then the caller knows what to change.
    /// 3. A key of this issuer verifies the signature (RFC 8725 §3.2–§3.4, §3.8).
    /// 4. The claims are those of an id_token: ``IDTokenClaims/init(_:issuer:provider:subjects:for:isKeyCurrent:at:)``.
    ///
    /// The broker's own id_tokens are valid for exchanges only. They must be those of an enrolment, and their `idp`
    /// claim must name a configured IdP, whose prefix their `sub` has.
    package func verify(
        _ idToken: SubjectToken, from issuer: Issuer, for use: IDTokenUse, at now: UnixTime
    ) throws(IDTokenVerificationError) -> IDTokenVerification {
        if use == .exchange, let enrolled, enrolled.issuer == issuer {
            let token = try parse(idToken, of: issuer, enrolled.algorithms)
            switch enrolled.key(token.header) {
            case .done(let found): return .verified(try enrolledClaims(of: token, at: issuer, by: found, now: now))
            case .coming(let find):
                return .keyUnknown { () async throws(IDTokenVerificationError) in
                    try enrolledClaims(of: token, at: issuer, by: await find(), now: now)
                }
            }
        }
        guard let provider = providers[issuer] else { throw .refused(.issuerMismatch) }
        let token = try parse(idToken, of: issuer, provider.algorithms)
        let admissible: ProviderKeys.Admissible = use == .exchange ? .everLive : .current
        @Sendable func claims(_ verified: ProviderKeys.Verified) throws(IDTokenVerificationError) -> IDTokenClaims {
            try Self.claims { () throws(SubjectTokenDefect) in
                try IDTokenClaims(
                    verified.token, issuer: issuer, subjects: subjects, for: use, isKeyCurrent: verified.isKeyCurrent,
                    at: now)
            }
        }
        switch try provider.keys.find(token, with: admissible) {
        case .verified(let verified): return .verified(try claims(verified))
        case .unexplained(let miss):
            if token.names(anotherThan: issuer) { throw .refused(.issuerMismatch) }
            return .keyUnknown { () async throws(IDTokenVerificationError) in
                try claims(try await provider.keys.verify(token, with: admissible, after: miss))
            }
        }
    }

    /// Of an id_token of this broker.
    private func enrolledClaims(
        of token: CompactJWS, at issuer: Issuer, by found: Result<Result<JSONWebKey, JWSError>, PortError>,
        now: UnixTime
    ) throws(IDTokenVerificationError) -> IDTokenClaims {
        let key: Result<JSONWebKey, JWSError>
        do throws(PortError) {
            key = try found.get()
        } catch {
            switch error {
            case .outage(let outage): throw .outage(outage)
            case .broken(let what): throw .outage(Outage(.keyModule, what))
            }
        }
        return try Self.claims { () throws(SubjectTokenDefect) in
            let verified: VerifiedJWS
            do throws(JWSError) {
                verified = try token.verified(by: try key.get())
            } catch {
                throw SubjectTokenDefect(error)
            }
            // In every access token of this broker and in no id_token of it.
            guard !verified.claims.contains("session_id") else { throw .accessToken }
            guard verified.claims["device_sso"] == .bool(true),
                let login = verified.claims.string("idp").flatMap(Issuer.init), providers[login] != nil
            else { throw .notEnrolled }
            return try IDTokenClaims(
                verified, issuer: issuer, provider: login, subjects: subjects, at: now)
        }
    }

    private func parse(
        _ subjectToken: SubjectToken, of issuer: Issuer, _ algorithms: Set<SignatureAlgorithm>
    ) throws(IDTokenVerificationError) -> CompactJWS {
        let token: CompactJWS
        do throws(JWSError) {
            token = try CompactJWS(subjectToken.octets)
        } catch {
            throw .refused(SubjectTokenDefect(error))
        }
        do throws(JWSError) {
            try token.requireAlgorithm(among: algorithms)
            guard token.header.type == nil || token.header.hasType("JWT") else { throw .wrongType }
        } catch {
            throw .refused(token.names(anotherThan: issuer) ? .issuerMismatch : SubjectTokenDefect(error))
        }
        return token
    }

    private static func claims<Claims>(
        _ read: () throws(SubjectTokenDefect) -> Claims
    ) throws(IDTokenVerificationError) -> Claims {
        do throws(SubjectTokenDefect) {
            return try read()
        } catch {
            throw .refused(error)
        }
    }
}

extension CompactJWS {
    /// Nothing is verified: this only chooses the reason of a refusal.
    fileprivate func names(anotherThan issuer: Issuer) -> Bool {
        unverifiedIssuer?.hasSameOctets(as: issuer.string) == false
    }
}

extension SubjectTokenDefect {
    /// Maps a defect of form, header or signature to its name in the audit.
    init(_ error: JWSError) {
        switch error {
        case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
            .payloadNotJSON, .payloadNotObject:
            self = .malformed
        case .malformedHeader, .criticalHeader, .unencodedPayload, .compressed: self = .headerRefused
        case .wrongType: self = .wrongType
        case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: self = .algorithmNotAllowed
        case .unknownKey, .ambiguousKey: self = .unknownKey
        case .badSignature: self = .badSignature
        }
    }
}

/// The broker's own id_tokens from enrolments, accepted as subject tokens and verified with the broker's keys.
package struct EnrolledIDTokens: Sendable {
    package let issuer: Issuer
    /// The algorithms of the key module.
    package let algorithms: Set<SignatureAlgorithm>
    /// The published, active or retired key for a header, or why no key fits. An outage if the key may exist.
    package let key: @Sendable (JOSEHeader) -> Pending<Result<JSONWebKey, JWSError>, PortError>

    package init(
        issuer: Issuer, algorithms: Set<SignatureAlgorithm>,
        key: @escaping @Sendable (JOSEHeader) -> Pending<Result<JSONWebKey, JWSError>, PortError>
    ) {
        self.issuer = issuer
        self.algorithms = algorithms
        self.key = key
    }
}
