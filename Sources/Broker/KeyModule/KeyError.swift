import COpenSSL
package import NativeSSO

/// Why a key file or the key directory is unusable.
package enum KeyFileDefect: Error, Sendable, Equatable {
    case missing
    case missingDirectory
    case notDirectory
    case notRegularFile
    case symbolicLink
    case wrongOwner(uid: UInt32, expected: UInt32)
    case openToOthers(mode: UInt32)
    case tooLarge
    /// A MAC key is exactly 32 octets.
    case wrongLength(octets: Int)
    /// The file has no PEM block, or a damaged one.
    case unreadablePEM
    case trailingOctets
    /// Encrypted, and there is no passphrase.
    case encryptedPEM
    case wrongPassphrase
    case notPKCS8(label: String)
    case unsupportedKey
    case wrongCurve(String)
    case wrongModulus(bits: Int)
    /// The public and private parts do not match, or are invalid.
    case inconsistentKey
    case wrongAlgorithm(KeyAlgorithm, expected: KeyAlgorithm)
    case exists
    /// The key directory has another file of this name.
    case differs
    /// No public key of another replica.
    case noPublicKey
    /// The directory to install from holds no file.
    case noKeys
    case system(call: String, errno: Int32, message: String)

    /// The rest of a sentence that starts with the path, with the command that repairs the problem.
    func explanation(for path: String) -> String {
        switch self {
        case .missing:
            "does not exist: copy it from the broker on which it was generated, or make new keys with: "
                + "native-sso key generate"
        case .missingDirectory: "does not exist; type: install -d -m 0700 \(path)"
        case .notDirectory: "is not a directory"
        case .notRegularFile: "is not a regular file"
        case .symbolicLink: "is a symbolic link: put the key itself there"
        case .wrongOwner(let uid, 0):
            // Do not suggest chown to root: the broker does not run as root and could not read its keys any more.
            "belongs to user \(uid), not to root, who runs this; run as that user (sudo -u '#\(uid)' native-sso …)"
        case .wrongOwner(let uid, let expected):
            "belongs to user \(uid), not to the user \(expected) that runs this; run as that user "
                + "(sudo -u '#\(uid)' native-sso …), or type: chown \(expected) \(path)"
        case .openToOthers(let mode):
            "has mode \(Self.octal(mode)), so others than its owner may use it; type: chmod go= \(path)"
        case .tooLarge: "is too large for a key"
        case .wrongLength(let octets): "holds \(octets) octets, a key of this kind has 32: the file is damaged"
        case .unreadablePEM: "holds no readable PEM: the file is damaged"
        case .trailingOctets: "holds something after the key: only one PEM block may be in the file"
        case .encryptedPEM:
            "is encrypted, and the configuration has no passphrase: name its file in keys.passphrase_file, or decrypt "
                + "the key with: openssl pkey -in …"
        case .wrongPassphrase:
            "is encrypted, and the passphrase of keys.passphrase_file does not open it: the file is damaged, or the key "
                + "was made with another passphrase"
        case .notPKCS8(let label):
            "holds a “\(label)”, not PKCS #8; convert it with: openssl pkcs8 -topk8 -nocrypt -in …"
        case .unsupportedKey: "holds a key that is neither RSA nor EC nor Ed25519"
        case .wrongCurve(let curve):
            "holds a key on the curve \(curve); only P-256 (prime256v1) and P-384 (secp384r1) are supported"
        case .wrongModulus(let bits): "holds an RSA key of \(bits) bits; 2048 to 8192 are supported"
        case .inconsistentKey:
            "holds a key whose parts do not belong together: the file is damaged or was tampered with"
        case .wrongAlgorithm(let algorithm, let expected):
            "holds a key for \(algorithm.rawValue), but the registry means one for \(expected.rawValue)"
        case .exists: "exists already: it may be left from an interrupted run; remove it if no broker uses it"
        case .differs: "holds another key than the file to install: remove the wrong one of the two"
        case .noPublicKey:
            "holds no public key of the registry's: remove it, and copy it again with: native-sso key sync"
        case .noKeys: "holds no key files"
        case .system(let call, _, let message): "cannot be used: \(call): \(message)"
        }
    }

    static func octal(_ mode: UInt32) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// Why a key could not be loaded, created or used. The text says what to do and contains no secret.
package enum KeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A problem with one file or the key directory.
    case file(path: String, KeyFileDefect)
    /// A registry record whose reference is not valid for this provider.
    case badReference(String)
    /// The file contains another key than the registry expects.
    case otherKey(path: String, expected: String, found: String)
    /// All 255 ids of refresh-token keys are in use.
    case noIDsLeft
    /// A device key exists. A second one would make every stored device digest unknown.
    case deviceKeyExists(reference: String)
    case algorithmDoesNotFit(KeyAlgorithm, KeyUse)
    case token(TokenDefect)
    /// OpenSSL's FIPS provider was asked for, and cannot be used.
    case noFIPS(String)
    case signer(SignerDefect)
    /// What the key store says, which runs as the broker's user.
    case store(String)
    /// libcrypto failed, independently of the input.
    case cryptography(String)

    package var description: String {
        switch self {
        case .file(let path, let defect): "\(path) \(defect.explanation(for: path))"
        case .badReference(let reference):
            "the registry refers to a key as \(reference), which is no key of this provider: was the broker "
                + "configured with another key provider when the key was made?"
        case .otherKey(let path, let expected, let found):
            "\(path) holds the key \(found), but the registry means \(expected): restore the file from where it was "
                + "generated; every broker needs the same key files"
        case .noIDsLeft: "all 255 ids of refresh-token keys are taken: remove a retired one"
        case .deviceKeyExists(let reference):
            "there is a device key already (\(reference)): with another one, every device would be unknown and every "
                + "session lost"
        case .algorithmDoesNotFit(let algorithm, let use): "a key for \(use.rawValue) cannot be \(algorithm.rawValue)"
        case .token(let defect): defect.description
        case .noFIPS(let reason):
            "keys.fips is true, and OpenSSL's FIPS provider cannot be used (\(reason)): install and configure it "
                + "(man 7 fips_module), or remove keys.fips"
        case .signer(let defect): defect.description
        case .store(let text): text
        case .cryptography(let what): what
        }
    }
}

extension KeyError {
    /// Whether the provider is away, so that waiting may help.
    package var isOutage: Bool {
        switch self {
        case .token(let defect): defect.isOutage
        case .signer(let defect): defect.isOutage
        default: false
        }
    }
}

extension KeyError {
    /// A failed libcrypto call, with the reasons from this thread's error queue: the library's fixed texts, without
    /// data.
    ///
    /// Empties the queue, so that old reasons do not explain a later failure.
    static func openSSL(_ operation: StaticString) -> KeyError {
        let reasons = OpenSSLErrors.drained()
        return .cryptography("\(operation) failed" + (reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", ")))
    }
}

/// This thread's queue of errors. A failed call leaves nothing in it: libpq, in the same process, reads it too.
enum OpenSSLErrors {
    static var isEmpty: Bool { ERR_peek_error() == 0 }

    static func drained() -> [String] {
        var reasons: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            if let reason = unsafe ERR_reason_error_string(code) {
                unsafe reasons.append(String(cString: reason))
            } else {
                reasons.append("error \(code)")
            }
        }
        return reasons
    }
}
