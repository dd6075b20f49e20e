import CPKCS11

/// Why a PKCS#11 token, or a key in it, is unusable.
package enum TokenDefect: Error, Sendable, Equatable {
    /// The module could not be loaded.
    case module(path: String, reason: String)
    /// No token has the label.
    case noToken(label: String, present: [String])
    case wrongPIN
    case lockedPIN
    /// The token failed, or is gone. The broker connects again by itself.
    case failed(call: String, code: UInt)
    case noAnswer
    case busy
    case noKey(label: String)
    case severalKeys(label: String)
    case exists(label: String)
    case wrongKind(label: String, expected: String)
    case unsupported(algorithm: String)
    /// The token does not do this with the key.
    case wrongMechanism(String)

    /// A code that a call returned, PKCS#11 2.40 §5.1.
    init(call: StaticString, code: UInt) {
        self =
            switch code {
            case CKR_PIN_INCORRECT, CKR_PIN_INVALID, CKR_PIN_LEN_RANGE, CKR_PIN_EXPIRED: .wrongPIN
            case CKR_PIN_LOCKED: .lockedPIN
            case CKR_MECHANISM_INVALID, CKR_MECHANISM_PARAM_INVALID, CKR_KEY_TYPE_INCONSISTENT,
                CKR_KEY_FUNCTION_NOT_PERMITTED, CKR_KEY_SIZE_RANGE, CKR_CURVE_NOT_SUPPORTED:
                .wrongMechanism(Self.name(of: code))
            default: .failed(call: call.description, code: code)
            }
    }

    /// Whether another try could lock the PIN.
    var concernsPIN: Bool { self == .wrongPIN || self == .lockedPIN }

    /// Whether the token itself is away.
    var isOutage: Bool { endsSession || self == .noAnswer || self == .busy }

    /// Whether the session must be opened again.
    var endsSession: Bool {
        switch self {
        case .failed, .wrongPIN, .lockedPIN, .noToken, .module: true
        case .noAnswer, .busy, .noKey, .severalKeys, .exists, .wrongKind, .unsupported, .wrongMechanism: false
        }
    }
}

extension TokenDefect: CustomStringConvertible {
    package var description: String {
        switch self {
        case .module(let path, let reason): "the PKCS#11 module \(path) cannot be loaded: \(reason)"
        case .noToken(let label, let present):
            "there is no PKCS#11 token labelled \(label); present: "
                + (present.isEmpty ? "none" : present.joined(separator: ", ")) + "; correct keys.pkcs11.token"
        case .wrongPIN:
            "the token refused the PIN; the broker does not try it again, because a few wrong tries lock the token: "
                + "correct keys.pkcs11.pin_file, then restart"
        case .lockedPIN: "the token's PIN is locked; its security officer must set a new one, then restart"
        case .failed(let call, let code):
            "the token failed: \(call): \(Self.name(of: code)); the broker connects again by itself"
        case .noAnswer: "the token did not answer in time"
        case .busy: "too many signatures wait for the token; raise keys.pkcs11.sessions"
        case .noKey(let label):
            "the token holds no private key labelled \(label): is it the token where the key was made?"
        case .severalKeys(let label): "the token holds several private keys labelled \(label); remove all but one"
        case .exists(let label):
            "the token holds a key labelled \(label) already: if no registry uses it, remove it with the token's own tools"
        case .wrongKind(let label, let expected): "the token's key \(label) is no key for \(expected)"
        case .wrongMechanism(let reason):
            "the token cannot make this signature: \(reason); make a key of another algorithm, or take another token"
        case .unsupported(let algorithm): "keys for \(algorithm) are not made in tokens; take another algorithm"
        }
    }

    private static func name(of code: UInt) -> String {
        switch code {
        case CKR_DEVICE_ERROR: "device error"
        case CKR_DEVICE_REMOVED: "device removed"
        case CKR_TOKEN_NOT_PRESENT: "token not present"
        case CKR_SESSION_HANDLE_INVALID, CKR_SESSION_CLOSED: "session closed"
        case CKR_USER_NOT_LOGGED_IN: "not logged in"
        case CKR_MECHANISM_INVALID, CKR_MECHANISM_PARAM_INVALID: "it does not know the mechanism"
        case CKR_KEY_FUNCTION_NOT_PERMITTED: "the key may not sign"
        case CKR_KEY_SIZE_RANGE, CKR_CURVE_NOT_SUPPORTED: "it does not take keys of this size or on this curve"
        case CKR_KEY_TYPE_INCONSISTENT: "the key is of another type"
        case CKR_OBJECT_HANDLE_INVALID, CKR_KEY_HANDLE_INVALID: "the key is gone"
        case CKR_GENERAL_ERROR: "general error"
        case CKR_FUNCTION_FAILED: "function failed"
        default: "0x\(String(code, radix: 16))"
        }
    }
}
