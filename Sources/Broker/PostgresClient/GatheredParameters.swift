extension EncodedParameters {
    /// One parameter: an array of composite values (`array_recv`, `record_recv`), an element for each call, whose octets are
    /// taken as they are. `nil` where a call has not all of the parameters, or together they are too long for a parameter.
    init?(gathering calls: [EncodedParameters], _ fields: [Gathering.Field], element: UInt32) {
        self.init()
        octets.reserveCapacity(1 + 20 + calls.count * (8 + 8 * fields.count) + calls.reduce(0) { $0 + $1.octets.count })
        octets.append(0)
        append(Int32(1))  // dimensions
        append(Int32(0))  // no element is NULL
        append(Int32(bitPattern: element))
        append(Int32(clamping: calls.count))
        append(Int32(1))  // the first one's index
        var starts: [Int] = []
        for call in calls {
            starts.removeAll(keepingCapacity: true)
            var position = 1
            for length in call.lengths {
                starts.append(position)
                position += Int(max(0, length))
            }
            var size = 4
            for field in fields {
                guard call.lengths.indices.contains(field.parameter) else { return nil }
                size += 8 + Int(max(0, call.lengths[field.parameter]))
            }
            append(Int32(clamping: size))
            append(Int32(clamping: fields.count))
            for field in fields {
                let (start, length) = (starts[field.parameter], call.lengths[field.parameter])
                append(Int32(bitPattern: field.type.objectID))
                append(length)
                if length > 0 { octets.append(contentsOf: call.octets[start..<start + Int(length)]) }
            }
        }
        guard let length = Int32(exactly: octets.count - 1) else { return nil }
        lengths.append(length)
    }
}
