public import JOSE
public import NativeSSO
import StrictCoding

/// The id_tokens that this broker signed itself, at an enrolment: subject tokens like those of an identity provider, by keys
/// of its own.
public struct EnrolledIDTokens: Sendable {
    /// Ours.
    public let issuer: Issuer
    /// What the key module signs with.
    public let algorithms: Set<SignatureAlgorithm>
    /// The published, active or retired key for a header; why there is none. An outage where that cannot be told.
    public let key: @Sendable (JOSEHeader) throws(PortError) -> Result<JSONWebKey, JWSError>

    public init(
        issuer: Issuer, algorithms: Set<SignatureAlgorithm>,
        key: @escaping @Sendable (JOSEHeader) throws(PortError) -> Result<JSONWebKey, JWSError>
    ) {
        self.issuer = issuer
        self.algorithms = algorithms
        self.key = key
    }

    func verify(_ token: CompactJWS) throws(IDTokenVerificationError) -> VerifiedJWS {
        let found: Result<JSONWebKey, JWSError>
        do throws(PortError) {
            found = try key(token.header)
        } catch {
            switch error {
            case .outage(let outage): throw .outage(outage)
            case .broken(let what): throw .outage(Outage(.keyModule, what))
            }
        }
        do throws(JWSError) {
            return try token.verified(by: try found.get())
        } catch {
            throw .refused(SubjectTokenDefect(error))
        }
    }
}
