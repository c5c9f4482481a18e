// SPDX-License-Identifier: GPL-2.0
/*
 * A network device for tests of queue disciplines, which sends only on request:
 * `ip link add g0 type gate`. Write N to /sys/class/net/g0/gate/credit to let N
 * packets leave. Without credit its transmit queues are stopped. Packets that
 * leave are counted and dropped, but packet sockets see them. Write N to
 * gate/bulk to let the core take packets of N bytes at once. It then gets back
 * the packets that exceed the credit.
 *
 * While the queue is stopped, nothing calls the discipline's dequeue. So a test
 * controls every enqueue and dequeue, and their order.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

/**
 * struct gate - private part of the device
 * @credit: packets that may still leave; protected by the transmit lock
 * @bulk: bytes that the core may take from the discipline at once, if the
 *	device has one queue and one qdisc; otherwise it takes one packet
 */
struct gate {
	u32	credit;
	u32	bulk;
};

static netdev_tx_t gate_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct gate *gate = netdev_priv(dev);

	if (!--gate->credit)
		netif_tx_stop_all_queues(dev);
	DEV_STATS_INC(dev, tx_packets);
	DEV_STATS_ADD(dev, tx_bytes, skb->len);
	consume_skb(skb);
	return NETDEV_TX_OK;
}

static int gate_open(struct net_device *dev)
{
	struct gate *gate = netdev_priv(dev);

	gate->credit = 0;
	netif_tx_stop_all_queues(dev);
	return 0;
}

static int gate_stop(struct net_device *dev)
{
	netif_tx_stop_all_queues(dev);
	return 0;
}

static ssize_t credit_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	struct gate *gate = netdev_priv(to_net_dev(d));

	return sysfs_emit(buf, "%u\n", READ_ONCE(gate->credit));
}

static ssize_t credit_store(struct device *d, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	struct net_device *dev = to_net_dev(d);
	struct gate *gate = netdev_priv(dev);
	u32 credit;
	int err;

	err = kstrtou32(buf, 0, &credit);
	if (err)
		return err;
	if (!netif_running(dev))
		return -ENETDOWN;

	netif_tx_lock_bh(dev);
	gate->credit = credit;
	if (credit)
		netif_tx_wake_all_queues(dev);
	else
		netif_tx_stop_all_queues(dev);
	/* This runs the softirq that sends, so the packets leave before we return. */
	netif_tx_unlock_bh(dev);
	return count;
}

static DEVICE_ATTR_RW(credit);

static ssize_t bulk_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	struct gate *gate = netdev_priv(to_net_dev(d));

	return sysfs_emit(buf, "%u\n", gate->bulk);
}

/* Behave like a driver with byte queue limits, and room for this many bytes. */
static ssize_t bulk_store(struct device *d, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct net_device *dev = to_net_dev(d);
	struct gate *gate = netdev_priv(dev);
	u32 bulk;
	int err;

	err = kstrtou32(buf, 0, &bulk);
	if (err)
		return err;
	if (!IS_ENABLED(CONFIG_BQL))
		return -EOPNOTSUPP;

	gate->bulk = bulk;
#ifdef CONFIG_BQL
	for (unsigned int i = 0; i < dev->num_tx_queues; i++)
		netdev_get_tx_queue(dev, i)->dql.adj_limit = bulk;
#endif
	return count;
}

static DEVICE_ATTR_RW(bulk);

static struct attribute *gate_attrs[] = {
	&dev_attr_credit.attr,
	&dev_attr_bulk.attr,
	NULL
};

static const struct attribute_group gate_group = {
	.name	= "gate",
	.attrs	= gate_attrs,
};

static const struct net_device_ops gate_netdev_ops = {
	.ndo_open		= gate_open,
	.ndo_stop		= gate_stop,
	.ndo_start_xmit		= gate_xmit,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void gate_setup(struct net_device *dev)
{
	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &gate_netdev_ops;
	dev->needs_free_netdev = true;
	dev->sysfs_groups[0] = &gate_group;
	dev->flags |= IFF_NOARP;
	dev->min_mtu = 0;
	dev->max_mtu = 0;
	/* Accept whole GSO packets, so that only the discipline splits them. */
	dev->features |= NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_GSO_SOFTWARE;
	dev->hw_features |= dev->features;
}

static struct rtnl_link_ops gate_link_ops __read_mostly = {
	.kind		= "gate",
	.priv_size	= sizeof(struct gate),
	.setup		= gate_setup,
};

static int __init gate_init(void)
{
	return rtnl_link_register(&gate_link_ops);
}

static void __exit gate_exit(void)
{
	rtnl_link_unregister(&gate_link_ops);
}

module_init(gate_init)
module_exit(gate_exit)
MODULE_ALIAS_RTNL_LINK("gate");
MODULE_AUTHOR("The sch-aqm maintainers");
MODULE_DESCRIPTION("Test device that sends packets only on request");
MODULE_LICENSE("GPL");
