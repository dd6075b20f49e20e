extension EVPKey {
    /// The modulus lengths we sign with, in bits. RFC 7518 §3.3 asks for 2048 at least.
    static let modulusBits = 2048...8192

    /// Which algorithm the key is for, after a look at everything that could be wrong with it.
    func checkedAlgorithm() throws(KeyFileDefect) -> KeyAlgorithm {
        if isA("EC") {
            guard curve == "prime256v1" else { throw .wrongCurve(curve ?? "unnamed") }
            guard isConsistent else { throw .inconsistentKey }
            return .es256
        }
        guard isA("RSA") else { throw .unsupportedKey }
        guard Self.modulusBits.contains(bits) else { throw .wrongModulus(bits: bits) }
        guard isConsistent else { throw .inconsistentKey }
        return .rs256
    }
}
