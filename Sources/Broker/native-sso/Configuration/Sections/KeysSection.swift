import KeyModule
import NativeSSO
import OAuthWire
import StrictCoding

extension Configuration {
    /// `keys`: where the broker's private keys lie.
    struct Keys: Sendable {
        /// `nil`: the signer has the keys.
        let directory: String?
        /// Of the files of signing keys; `nil`: new ones are not encrypted.
        let passphrase: Credential?
        let usesFIPS: Bool
        /// Where new signing keys are made; `nil`: in files.
        let token: TokenSettings?
        /// Signatures of each key in a second; `nil`: no limit.
        let quota: Int?
        /// The name of this broker, which has signing keys of its own; `nil`: it shares those of all.
        let replica: String?
        /// The socket of the signer; `nil`: this process has the keys.
        let signer: String?

        /// - Parameter isOfSigner: Whether a signer reads them, which signs for every broker.
        init(reading section: Section, isOfSigner: Bool = false) {
            (signer, quota, replica) = isOfSigner ? (nil, nil, nil) : Self.ofBroker(section)
            let help = "The directory of the key files. Required without `keys.signer`."
            if signer != nil {
                directory = section.value("directory", .path, help: help, PathText.absolute)
                for key in ["directory", "pkcs11", "passphrase_file", "fips"] where section.isGiven(key) {
                    section.report(key, "has no effect beside keys.signer, which has the keys; remove one of them")
                }
            } else {
                directory = section.required(
                    "directory", .path, example: "/var/lib/native-sso/keys", help: help, PathText.absolute)
            }
            passphrase = section.file(
                "passphrase_file",
                help: "Encrypts new files of signing keys, on one line. Only its owner may read the file.",
                SecretFile.read)
            usesFIPS = section.flag(
                "fips", default: false, help: "Use OpenSSL's FIPS provider, and do not start without it.")
            token = section.section(
                "pkcs11", isOptional: true,
                help: "A PKCS#11 token, in which new signing keys are made. Without it, they are files."
            ) { TokenSettings(reading: $0, isGiven: section.isGiven("pkcs11") || $0.isGiven("module")) }
        }

        private static func ofBroker(_ section: Section) -> (signer: String?, quota: Int?, replica: String?) {
            let signer = section.section(
                "signer", help: "A signer process, which has the keys instead of the broker. See `native-sso signer`."
            ) { signer in
                let help = "The Unix socket of the signer."
                guard section.isGiven("signer") || signer.isGiven("socket") else {
                    return signer.value("socket", .path, help: help, PathText.absolute)
                }
                return signer.required(
                    "socket", .path, example: "/run/native-sso-signer/socket", help: help, PathText.absolute)
            }
            let quotas = 1...1_000_000
            let quota = section.value(
                "quota", .integer(quotas),
                help:
                    "Signatures of each key in a second at this broker. More are answered with 503. By default no limit."
            ) { try IntegerText.parse($0, in: quotas) }
            let replica = section.value(
                "replica", .text("a name"),
                help: "The name of this broker, if it has a signing key of its own. By default all brokers share one.",
                Self.replicaName)
            return (signer, quota, replica)
        }

        private static func replicaName(_ text: String) throws(ValueDefect) -> String {
            guard (1...64).contains(text.utf8.count), text.isPrintableASCII(except: UInt8(ascii: " ")) else {
                throw ValueDefect("is no name: write 1 to 64 printable ASCII characters without spaces")
            }
            return text
        }

        /// For commands that touch key files themselves.
        func ownDirectory() throws(CommandFailure) -> String {
            guard let directory else {
                throw .usage("this configuration names no key directory: name one with keys.directory")
            }
            return directory
        }

        /// The replica whose keys of `use` this broker makes and rotates; `nil`: all brokers share them. Each broker
        /// checks MACs that another has made, so MAC keys are the same everywhere.
        func replica(for use: KeyUse) -> String? { use == .accessToken ? replica : nil }

        /// With the passphrase of the configuration.
        func files(in directory: String) throws(KeyError) -> FileKeyProvider {
            guard let passphrase else { return FileKeyProvider(directory: directory) }
            return try FileKeyProvider(directory: directory, passphrase: passphrase.secret)
        }

        func provider() throws(KeyError) -> any KeyProvider {
            if let signer { return SignerKeyProvider(SignerClient(socket: signer)) }
            if usesFIPS { try FIPSModule.require() }
            let files = try files(in: directory ?? "")
            return token.map { TokenKeyProvider(Token($0), files: files) } ?? files
        }
    }
}

extension TokenSettings {
    /// `keys.pkcs11`: the token; `nil` if the section is not given or incomplete.
    fileprivate init?(reading section: Section, isGiven: Bool) {
        let module = section.value(
            "module", .path, help: "The PKCS#11 module, a shared library.", PathText.absolute)
        let token = section.value("token", .text("a label"), help: "The label of the token.", Self.label)
        let pin = section.file(
            "pin_file", help: "The PIN of the token's user, on one line. Only its owner may read the file.",
            SecretFile.read)
        let sessions = section.integer(
            "sessions", default: 4, in: 1...64,
            help: "Sessions of this broker: how many signatures the token makes at once.")
        guard isGiven else { return nil }
        for key in ["module", "token", "pin_file"] where !section.isGiven(key) {
            section.report(key, "is missing; write module, token and pin_file")
        }
        guard let module, let token, let pin else { return nil }
        self.init(module: module, token: token, pin: pin.secret, sessions: sessions)
    }

    /// PKCS#11 pads a label to 32 octets.
    private static func label(_ text: String) throws(ValueDefect) -> String {
        guard (1...32).contains(text.utf8.count), !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw ValueDefect("is no label of a token: 1 to 32 octets")
        }
        return text
    }
}
