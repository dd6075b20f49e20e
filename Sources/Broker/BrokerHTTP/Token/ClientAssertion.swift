import JOSE
import NativeSSO

/// A `client_assertion`, taken apart: its signature is not verified yet. It prints as `****`.
struct ClientAssertion: Sendable, CustomStringConvertible, CustomReflectable {
    private let token: CompactJWS

    /// No claim of an assertion is long.
    private static let limits = CompactJWS.Limits(token: 8 << 10, payload: 4 << 10)
    /// RFC 7523bis; an older client says `JWT`, or nothing.
    private static let types = ["client-authentication+jwt", "JWT"]

    /// Form, header, algorithm and `typ`.
    init(_ text: String) throws(ClientRefusal) {
        do throws(JWSError) {
            token = try CompactJWS(text, limits: Self.limits)
            try token.requireAlgorithm(among: AssertionSignature.algorithms)
        } catch {
            throw ClientRefusal(error)
        }
        guard token.header.type == nil || Self.types.contains(where: token.header.hasType) else {
            throw .assertionWrongType
        }
    }

    var header: JOSEHeader { token.header }

    /// Whose it claims to be: `sub`. It says whose keys to take, and no more.
    var claimedClient: ClientID? { token.unverifiedSubject.flatMap(ClientID.init) }

    /// Always one verification.
    func verified(by key: AssertionKey) throws(ClientRefusal) -> VerifiedJWS {
        switch key {
        case .registered(let key):
            do throws(JWSError) {
                return try token.verified(by: key)
            } catch {
                throw ClientRefusal(error)
            }
        case .none(let refusal, let decoy):
            _ = try? token.verified(by: decoy)
            throw refusal
        }
    }

    var description: String { "****" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ClientRefusal {
    init(_ error: JWSError) {
        switch error {
        case .tooLong, .notCompact, .encrypted, .emptySegment, .notBase64URL, .headerNotJSON, .headerNotObject,
            .payloadNotJSON, .payloadNotObject:
            self = .assertionMalformed
        case .malformedHeader, .criticalHeader, .unencodedPayload, .compressed: self = .assertionHeader
        case .wrongType: self = .assertionWrongType
        case .unsupportedAlgorithm, .algorithmNotAllowed, .keyDoesNotFitAlgorithm: self = .assertionAlgorithm
        case .unknownKey, .ambiguousKey: self = .assertionUnknownKey
        case .badSignature: self = .assertionSignature
        }
    }
}
