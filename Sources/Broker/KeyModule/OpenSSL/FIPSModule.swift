import COpenSSL

/// OpenSSL's FIPS provider, for this process. Tried nowhere: Debian's OpenSSL has none.
package enum FIPSModule {
    private static let failure: String? =
        copenssl_use_fips() == 1 ? nil : OpenSSLErrors.drained().joined(separator: ", ")

    /// Puts it in the place of OpenSSL's other implementations. Throws if it is not there.
    package static func require() throws(KeyError) {
        SecureHeap.prepare()
        if let failure { throw .noFIPS(failure) }
    }

    /// Whether OpenSSL finds it.
    static var isInstalled: Bool {
        let found = unsafe OSSL_PROVIDER_try_load(nil, "fips", 1)
        defer { ERR_clear_error() }
        guard let found = unsafe found else { return false }
        unsafe OSSL_PROVIDER_unload(found)
        return true
    }

    /// Whether this process computes in it.
    package static var isUsed: Bool { EVP_default_properties_is_fips_enabled(nil) == 1 }
}
