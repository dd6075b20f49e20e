import StrictCoding

/// Why AWS KMS, or a key in it, is unusable.
package enum KMSDefect: Error, Sendable, Equatable {
    case unreachable(endpoint: String, reason: String)
    case noAnswer(endpoint: String)
    case throttled
    /// An error of its own, such as 500.
    case failed(String)
    /// What answers is not KMS.
    case nonsense(endpoint: String, reason: String)
    case wrongTime(String)
    case noCredentials(String)
    case wrongCredentials(String)
    case denied(action: String)
    case noKey(String)
    /// The key is disabled, or waits for its deletion.
    case unusableKey(String, reason: String)
    case wrongKind(String, expected: String)
    /// The wrapped key is damaged, or was wrapped by another key or for another use.
    case notWrappedHere(String)
    case noWrappingKey
    case unsupported(algorithm: String)
    case refused(String)

    /// - Parameters:
    ///   - type: The last part of `__type` of the answer.
    ///   - key: What was asked for.
    init(type: String, message: String, status: Int, action: String, key: String) {
        self =
            switch type {
            case "ThrottlingException", "LimitExceededException", "RequestLimitExceeded", "TooManyRequestsException":
                .throttled
            case "InvalidSignatureException" where message.contains("expired") || message.contains("not yet current"),
                "RequestTimeTooSkewed", "RequestExpired":
                .wrongTime(message)
            case "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException",
                "ExpiredTokenException",
                "SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken",
                "MissingAuthenticationTokenException", "IncompleteSignatureException":
                .wrongCredentials(type)
            case "AccessDeniedException", "AccessDenied", "OptInRequired": .denied(action: action)
            case "NotFoundException", "InvalidArnException": .noKey(key)
            case "DisabledException", "KMSInvalidStateException", "KeyUnavailableException":
                .unusableKey(key, reason: "\(type): \(message)")
            case "InvalidCiphertextException", "IncorrectKeyException": .notWrappedHere(key)
            case "InvalidKeyUsageException": .wrongKind(key, expected: action)
            default:
                status >= 500 ? .failed("\(type.isEmpty ? "status" : type) \(status)") : .refused("\(type): \(message)")
            }
    }

    /// Whether the same call may succeed a moment later.
    var isTransient: Bool {
        switch self {
        case .unreachable, .throttled, .failed: true
        default: false
        }
    }

    /// Whether KMS itself is away.
    var isOutage: Bool {
        switch self {
        case .noAnswer, .nonsense, .wrongTime, .noCredentials, .wrongCredentials: true
        default: isTransient
        }
    }
}

extension KMSDefect: CustomStringConvertible {
    package var description: String {
        let again = "; the broker tries again by itself"
        return switch self {
        case .unreachable(let endpoint, let reason): "AWS KMS cannot be reached at \(endpoint): \(reason)\(again)"
        case .noAnswer(let endpoint): "AWS KMS at \(endpoint) did not answer in time\(again)"
        case .throttled:
            "AWS KMS takes no more calls of this account now: raise its quota of cryptographic operations\(again)"
        case .failed(let reason): "AWS KMS failed: \(reason)\(again)"
        case .nonsense(let endpoint, let reason):
            "what answers at \(endpoint) is not AWS KMS: \(reason); correct keys.kms.endpoint"
        case .wrongTime(let message):
            "AWS KMS refused the time of the request: \(message); set the clock of this machine"
        case .noCredentials(let reason): "there are no credentials for AWS KMS: \(reason)"
        case .wrongCredentials(let type):
            "AWS KMS refused the credentials: \(type); renew keys.kms.credentials_file, which is read again by itself, "
                + "or correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY and restart"
        case .denied(let action):
            "the credentials may not do kms:\(action) with this key: allow it in the key's policy, or in that of their account"
        case .noKey(let key): "AWS KMS has no key \(key) here: is it the region and account where it was made?"
        case .unusableKey(let key, let reason):
            "the KMS key \(key) cannot be used: \(reason); enable it, or cancel its deletion"
        case .wrongKind(let key, let expected): "the KMS key \(key) is no key for \(expected)"
        case .notWrappedHere(let name):
            "AWS KMS cannot unwrap \(name): keys.kms.wrapping_key is not the key that wrapped it, or the registry's row was "
                + "changed"
        case .noWrappingKey: "MAC keys need keys.kms.wrapping_key, a symmetric key of AWS KMS that wraps them"
        case .unsupported(let algorithm): "AWS KMS makes no keys for \(algorithm); take ES256, ES384, RS256 or PS256"
        case .refused(let text): "AWS KMS refused the request: \(text)"
        }
    }
}
